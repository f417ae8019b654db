// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// Ports avoid the kernel's random ports, from 32768 (ip_local_port_range), and PowerDNS', 10000 to 19999.
const (
	firstPort = 20000
	ports     = 32768 - firstPort
)

// FreePort reserves a loopback port, for TCP and UDP, until this process ends.
func FreePort() (netip.AddrPort, error) { return reservations.reservePort() }

// OutsidePort reserves a non-loopback port, for classes without allowLocalAddresses.
func OutsidePort() (netip.AddrPort, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return netip.AddrPort{}, err
	}
	for _, one := range all {
		prefix, err := netip.ParsePrefix(one.String())
		if err != nil || !prefix.Addr().Is4() || !prefix.Addr().IsGlobalUnicast() {
			continue
		}
		port, err := FreePort()
		return netip.AddrPortFrom(prefix.Addr(), port.Port()), err
	}
	return netip.AddrPort{}, errors.New("this machine has no IPv4 address but loopback's")
}

var reservations = reserved{path: filepath.Join(os.TempDir(), "kubizone-test-ports"), next: rand.IntN(ports), left: ports}

// reserved holds a process's ports: locks on octets of a file of all test processes, which the kernel releases when the
// process ends.
type reserved struct {
	path string

	mu   sync.Mutex
	file *os.File
	next int // random at first, to avoid collisions
	left int
}

func (r *reserved) reservePort() (netip.AddrPort, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		var err error
		if r.file, err = openReservations(r.path); err != nil {
			return netip.AddrPort{}, fmt.Errorf("reserving a port: %w", err)
		}
	}
	for r.left > 0 {
		port := firstPort + r.next%ports
		r.next, r.left = r.next+1, r.left-1
		lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: int64(port), Len: 1}
		if err := syscall.FcntlFlock(r.file.Fd(), syscall.F_SETLK, &lock); errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
			continue
		} else if err != nil {
			return netip.AddrPort{}, fmt.Errorf("reserving a port in %s: %w", r.path, err)
		}
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(port))
		if isUnused(at) {
			return at, nil
		}
	}
	return netip.AddrPort{}, fmt.Errorf("no port from %d to %d is left: they are reserved or in use", firstPort, firstPort+ports-1)
}

// In a sticky directory, the kernel refuses O_CREATE for another user's file.
func openReservations(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	if file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return nil, err
	}
	return file, file.Chmod(0o666)
}

// isUnused finds listeners without reservations.
func isUnused(at netip.AddrPort) bool {
	// A process forked now would inherit these sockets until exec.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	tcp, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return false
	}
	defer tcp.Close()
	udp, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		return false
	}
	defer udp.Close()
	return true
}
