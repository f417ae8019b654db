// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package noderig

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

const (
	// nodeEnv marks the first process of the namespaces, with a furniture in JSON.
	nodeEnv = "KUBIZONE_TEST_NODE"
	// Host is the node's address, for servers that pods reach.
	Host    = "10.0.0.1"
	gateway = "169.254.1.1"
)

// NextClient returns a local address for a UDP client. A Service leads a client's address and port to the same pod
// until half a minute after the last packet, even if the pod has ended.
func NextClient() net.Addr {
	n := clients.Add(1)
	return &net.UDPAddr{IP: net.IPv4(10, 1, byte(n>>8), byte(n))}
}

var clients atomic.Uint32

type furniture struct {
	Dir      string
	Programs map[string]string
}

// Programs maps the last part of an image's name to a path.
type Programs map[string]string

// Program is the path of a program that Main has found.
func Program(name string) string { return here.Programs[name] }

var (
	here      furniture
	errAbsent = errors.New("noderig: TestMain does not call noderig.Main")
)

// Main runs a package's tests in new namespaces and returns the exit code. find has network access, and may build
// programs into dir.
func Main(m *testing.M, find func(ctx context.Context, dir string) (Programs, error)) int {
	if reported := os.Getenv(nodeEnv); reported != "" && os.Getpid() == 1 {
		if err := furnishNode(reported); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		errAbsent = nil
		return m.Run()
	}
	flag.Parse()
	code, err := enterNamespaces(find)
	if err != nil {
		errAbsent = err
		return m.Run()
	}
	return code
}

func enterNamespaces(find func(ctx context.Context, dir string) (Programs, error)) (code int, err error) {
	switch {
	case testing.Short():
		return 0, &rig.Missing{Program: "a node for pods", In: "a test with -short", Install: "a test without it"}
	case os.Geteuid() != 0:
		return 0, &rig.Missing{Program: "the right to make network namespaces and mounts", In: "what this user may do", Install: "a test as root"}
	}
	for program, install := range map[string]string{"ip": "apt-get install iproute2", "nft": "apt-get install nftables"} {
		if _, err := rig.Find(program, install); err != nil {
			return 0, err
		}
	}
	dir, err := os.MkdirTemp("", "kubizone-node-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	programs, err := find(context.Background(), dir)
	if err != nil {
		return 0, err
	}
	reported, err := json.Marshal(furniture{Dir: filepath.Join(dir, "node"), Programs: programs})
	if err != nil {
		return 0, err
	}
	again := exec.Command("/proc/self/exe", os.Args[1:]...)
	again.Args[0] = os.Args[0]
	again.Env = append(os.Environ(), nodeEnv+"="+string(reported))
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET, Setpgid: true, Pdeathsig: syscall.SIGKILL,
	}
	if err := again.Start(); err != nil {
		if errors.Is(err, syscall.EPERM) {
			err = &rig.Missing{Program: "the right to make network namespaces and mounts", In: "what this container may do", Install: "a test in a privileged one"}
		}
		return 0, err
	}
	// go test sends SIGQUIT after the time limit.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	go func() {
		for s := range signals {
			again.Process.Signal(s)
		}
	}()
	if err := again.Wait(); again.ProcessState == nil {
		return 0, err
	}
	if code := again.ProcessState.ExitCode(); code >= 0 {
		return code, nil
	}
	fmt.Fprintln(os.Stderr, "the tests ended by", again.ProcessState)
	return 1, nil
}

func furnishNode(reported string) error {
	if err := json.Unmarshal([]byte(reported), &here); err != nil {
		return err
	}
	if err := os.MkdirAll(here.Dir, 0o755); err != nil {
		return err
	}
	resolver, err := filepath.EvalSymlinks("/etc/resolv.conf") // before a new /run
	if err != nil {
		return err
	}
	for _, one := range []struct {
		source, target, kind string
		flags                uintptr
		options              string
	}{
		{"", "/", "", syscall.MS_REC | syscall.MS_PRIVATE, ""},
		{"proc", "/proc", "proc", syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC, ""},
		{"tmpfs", "/run", "tmpfs", syscall.MS_NOSUID | syscall.MS_NODEV, "mode=755"}, // for names of network namespaces
		{"tmpfs", here.Dir, "tmpfs", syscall.MS_NOSUID | syscall.MS_NODEV, "mode=755"},
	} {
		if err := syscall.Mount(one.source, one.target, one.kind, one.flags, one.options); err != nil {
			return fmt.Errorf("mounting %s: %w", one.target, err)
		}
	}
	// Processes of the tests find Services by cluster DNS.
	names := filepath.Join(here.Dir, "resolv.conf")
	if err := os.WriteFile(names, []byte(resolverOf("default")), 0o644); err != nil {
		return err
	}
	if strings.HasPrefix(resolver, "/run/") {
		if err := os.MkdirAll(filepath.Dir(resolver), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(resolver, nil, 0o644); err != nil {
			return err
		}
	}
	if err := syscall.Mount(names, resolver, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting %s: %w", resolver, err)
	}
	for file, value := range map[string]string{"ip_forward": "1", "conf/all/rp_filter": "0", "conf/default/rp_filter": "0"} {
		if err := os.WriteFile(filepath.Join("/proc/sys/net/ipv4", file), []byte(value), 0); err != nil {
			return err
		}
	}
	// Packets to Services leave by host0 until translated: a bridge without ports accepts any.
	return setNetwork("", "link set lo up", "link add host0 type bridge", "link set host0 up",
		"addr add "+Host+"/32 dev host0", "addr add "+gateway+"/32 dev host0", "route add "+serviceRange+" dev host0 src "+Host, "route add local 10.1.0.0/16 dev lo")
}

// An empty name is the node's own namespace.
func setNetwork(namespace string, commands ...string) error {
	program, err := rig.Find("ip", "apt-get install iproute2")
	if err != nil {
		return err
	}
	arguments := []string{"-batch", "-"}
	if namespace != "" {
		arguments = append([]string{"-n", namespace}, arguments...)
	}
	ip := exec.Command(program, arguments...)
	ip.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	if out, err := ip.CombinedOutput(); err != nil {
		return fmt.Errorf("ip %q: %w\n%s", commands, err, out)
	}
	return nil
}

// Dir is removed after the tests.
func Dir(t *testing.T) string {
	t.Helper()
	rig.SkipMissing(t, errAbsent)
	dir := must.Get(os.MkdirTemp(here.Dir, "test-"))(t)
	return dir
}
