// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime/debug"
	"runtime/pprof"
	"syscall"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/sethash"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/zoneview"
)

// roleVariable holds the role that this program is started again in.
const roleVariable = "KUBIZONE_BENCH_DELIVERY_ROLE"

// role of a process beside the measuring one: a server of one zone.
type role struct {
	Zone    string
	Records int
	// Messages is a file of a transfer's messages, each with its length: they are read into memory and sent to any
	// client that asks for anything. Empty: the hidden primary serves the zone.
	Messages string
	// Profile is a file for a CPU profile of all it does once it is ready.
	Profile string
}

// playRole runs the role this process was started in until its standard input ends, which is when the process that
// measures ends, however it does. played is false where there is none.
func playRole() (played bool, err error) {
	text := os.Getenv(roleVariable)
	if text == "" {
		return false, nil
	}
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	_ = flags.Set("logtostderr", "false") // it is klog's
	klog.SetOutput(io.Discard)
	var r role
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return true, fmt.Errorf("%s: %w", roleVariable, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if r.Messages != "" {
		return true, r.memory(ctx)
	}
	return true, r.primary(ctx)
}

// primary serves the zone as `kubizone primary` does, but for where it has it from.
func (r role) primary(ctx context.Context) error {
	zones := zoneview.NewSet(zoneview.Config{})
	snapshot, err := r.snapshot()
	if err != nil {
		return err
	}
	zones.Put(snapshot, true)
	loopback := netip.MustParseAddr("127.0.0.1")
	p, err := primary.New(primary.Config{
		Zones: zones, Views: []string{""}, Listen: []netip.AddrPort{netip.AddrPortFrom(loopback, 0)},
		Allow: primary.Rules([]netip.Prefix{netip.PrefixFrom(loopback, 8)}, nil),
	})
	if err != nil {
		return err
	}
	debug.FreeOSMemory() // what making the zone left behind is no part of serving it
	if r.Profile != "" {
		f, err := os.Create(r.Profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	fmt.Println(p.Addrs()[0])
	return p.Run(ctx)
}

// snapshot is the zone of masterFile, made without the API.
func (r role) snapshot() (*zoneview.Snapshot, error) {
	fqdn, err := name.Parse(r.Zone)
	if err != nil {
		return nil, err
	}
	header := content.Header{
		FQDN: fqdn, TTL: 3600, Refresh: 86400, Retry: 7200, Expire: 3600000, NegativeResponseCache: 360,
		NameServers: []content.NameServer{{Name: "ns.example.net."}},
	}
	return zoneview.NewSnapshot(zoneview.Zone{UID: "big", Namespace: namespace, Name: "big"}, header, 1, 1, sethash.State{}, func(yield func(content.RRset) bool) {
		for i := range r.Records {
			set := content.RRset{Owner: name.MustRel(host(i)), Type: rdata.A, TTL: content.InheritTTL(), Data: []string{address(0, i)}}
			if !yield(set) {
				return
			}
		}
	}), nil
}

// memory sends messages that were packed before.
func (r role) memory(ctx context.Context) error {
	stream, err := os.ReadFile(r.Messages)
	if err != nil {
		return err
	}
	var messages [][]byte
	for len(stream) > 0 {
		end := 2 + int(binary.BigEndian.Uint16(stream))
		messages, stream = append(messages, stream[:end]), stream[end:]
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	fmt.Println(l.Addr())
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		go func() {
			defer conn.Close()
			question := make([]byte, 512)
			for {
				if _, err := conn.Read(question); err != nil {
					return
				}
				for _, message := range messages {
					if _, err := conn.Write(message); err != nil {
						return
					}
				}
			}
		}()
	}
}

// played is a running role.
type played struct {
	command *exec.Cmd
	input   io.Closer
	at      string
}

// play starts this program in a role and waits until it serves.
func (r role) play(ctx context.Context) (*played, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	p := &played{command: exec.Command(self)}
	p.command.Env = append(os.Environ(), roleVariable+"="+string(text))
	p.command.Stderr = os.Stderr
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.input, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	said := make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(output)
		if !lines.Scan() {
			said <- errors.Join(errors.New("it ended before it served"), lines.Err())
			return
		}
		p.at = lines.Text()
		said <- nil
	}()
	select {
	case err = <-said:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		_ = p.stop()
		return nil, fmt.Errorf("a server of %d records: %w", r.Records, err)
	}
	return p, nil
}

func (p *played) pid() int { return p.command.Process.Pid }

// stop tells it by the end of its input, and waits.
func (p *played) stop() error {
	_ = p.input.Close()
	return p.command.Wait()
}
