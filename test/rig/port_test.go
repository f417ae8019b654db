// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// FreePort gives each port once: not again in this process, nor to another process that begins its search at the same
// port, nor while a program that reserves no ports listens there.
func TestFreePort_isGivenOnce(t *testing.T) {
	const inChild = "KUBIZONE_RIG_PORTS"
	reserve := func(r *reserved) netip.AddrPort {
		t.Helper()
		at := must.Get(r.reservePort())(t)
		return at
	}
	if path := os.Getenv(inChild); path != "" {
		var begin int
		must.Get(fmt.Sscan(os.Getenv(inChild+"_BEGIN"), &begin))(t)
		fmt.Printf("child: %s\n", reserve(&reserved{path: path, next: begin, left: ports}))
		return
	}
	at, err := FreePort() // a place in the range without a listener
	if err != nil {
		t.Fatal(err)
	}
	begin := int(at.Port()) - firstPort
	r := &reserved{path: filepath.Join(t.TempDir(), "ports"), next: begin, left: ports}
	first := reserve(r)
	if first != at {
		t.Errorf("%s, which was free, became %s", at, first)
	}
	child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), inChild+"="+r.path, fmt.Sprintf("%s_BEGIN=%d", inChild, begin))
	out, err := child.CombinedOutput()
	_, line, found := strings.Cut(string(out), "child: ")
	line, _, _ = strings.Cut(line, "\n")
	other, parsed := netip.ParseAddrPort(line)
	if err != nil || !found || parsed != nil || other == first {
		t.Fatalf("%s is reserved here; another process: %v %v\n%s", first, err, parsed, out)
	}
	listener := must.Get(net.ListenUDP("udp", net.UDPAddrFromAddrPort(other)))(t)
	defer listener.Close()
	if second := reserve(r); second == first || second == other {
		t.Errorf("%s after %s, and something listens on %s", second, first, other)
	}
	r.left = 0
	if at, err := r.reservePort(); err == nil {
		t.Errorf("%s when none was left", at)
	}
}

// Between fork and exec, a child process holds copies of all sockets of its parent, so a closed port is still in use
// for a moment. FreePort must not return such a port.
func TestFreePort_isFreeWhileProcessesStart(t *testing.T) {
	done := make(chan struct{})
	var starting sync.WaitGroup
	for range 4 {
		starting.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					_ = exec.Command(os.Args[0], "-test.run", "^$").Run()
				}
			}
		})
	}
	defer starting.Wait()
	defer close(done)
	for range 500 {
		at := must.Get(FreePort())(t)
		must.Succeed(t, tryListening(at))
	}
}

func tryListening(at netip.AddrPort) error {
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return err
	}
	defer listener.Close()
	return nil
}
