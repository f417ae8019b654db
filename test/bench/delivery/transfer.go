// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/test/bench/figures"
	"kubi.zone/kubizone/test/rig"
)

// Servers of a zone.
const (
	ofPrimary = "primary"
	ofMemory  = "from memory"
	ofKnot    = "Knot"
	ofCommand = "kubizone primary"
)

// bigZone is the one that is transferred.
const bigZone = "big.example."

// transfers measures what the zones of many records cost.
func (s *stage) transfers(ctx context.Context, into *figures.Results) error {
	if s.plan.Records > 0 {
		for _, records := range []int{s.plan.Records / 10, s.plan.Records} {
			if err := s.big(ctx, records, records == s.plan.Records, into); err != nil {
				return fmt.Errorf("%d records: %w", records, err)
			}
		}
	}
	if s.plan.Stored > 0 {
		if err := s.stored(ctx, into); err != nil {
			return fmt.Errorf("%d stored records: %w", s.plan.Stored, err)
		}
	}
	return nil
}

// big compares the primary with a Knot of the same zone and, where it is to be timed, with the octets from memory.
func (s *stage) big(ctx context.Context, records int, timed bool, into *figures.Results) error {
	s.say("a zone of %d records", records)
	ours, err := role{Zone: bigZone, Records: records}.play(ctx)
	if err != nil {
		return err
	}
	defer ours.stop()
	knot, err := rig.StartKnot(ctx, rig.KnotConfig{Template: []string{"zonefile-sync: -1", "journal-content: none"}, Zones: []rig.PrimaryZone{{Zone: bigZone, Text: masterFile(bigZone, records)}}})
	if err != nil {
		return err
	}
	defer knot.Close()
	file := filepath.Join(s.dir, "messages")
	if err := keepTransfer(ctx, ours.at, records, file); err != nil {
		return err
	}
	if timed {
		memory, err := role{Messages: file, Records: records}.play(ctx)
		if err != nil {
			return err
		}
		defer memory.stop()
		times := max(1, s.plan.Packed/records)
		servers := []served{{ofPrimary, ours.at, ours.pid(), times}, {ofMemory, memory.at, memory.pid(), 20 * times}, {ofKnot, knot.Addr.String(), knot.Pid(), times}}
		if err := s.race(ctx, servers, records, into); err != nil {
			return err
		}
		if s.plan.Profiles != "" {
			if err := s.profile(ctx, records); err != nil {
				return err
			}
		}
	} else if _, err := transfer(ctx, knot.Addr.String(), records, io.Discard); err != nil {
		return err
	}
	return weigh(into, map[string]int{ofPrimary: ours.pid(), ofKnot: knot.Pid()}, ofPrimary, records)
}

// weigh adds what each process has resident, and our part of Knot's.
func weigh(into *figures.Results, pids map[string]int, ours string, records int) error {
	resident := map[string]float64{}
	for name, pid := range pids {
		octets, err := figures.Resident(pid, "VmRSS")
		if err != nil {
			return err
		}
		resident[name] = float64(octets)
	}
	for _, name := range []string{ours, ofKnot} {
		into.Add(fmt.Sprintf("resident/%s/%d", name+of(ours, name), records), "MB", resident[name]/1e6)
	}
	into.Add(fmt.Sprintf("resident/%s ÷ %s/%d", ours, ofKnot, records), "×", resident[ours]/resident[ofKnot])
	return nil
}

// of tells the Knots apart that stand beside different servers with as many records.
func of(ours, name string) string {
	if ours == ofCommand && name == ofKnot {
		return " beside it"
	}
	return ""
}

// served is a server of the zone; it is asked times in a row, so that a hundredth of a second of CPU time is little.
type served struct {
	name, at string
	pid      int
	times    int
}

// race transfers the zone from every server in every round.
func (s *stage) race(ctx context.Context, servers []served, records int, into *figures.Results) error {
	for round := range s.plan.Rounds + 1 {
		rate, cpu, both := map[string]float64{}, map[string]float64{}, map[string]float64{}
		for i := range servers {
			one := servers[(i+round)%len(servers)]
			before, err := spent(one.pid)
			if err != nil {
				return err
			}
			began := time.Now()
			var octets int64
			for range one.times {
				if octets, err = transfer(ctx, one.at, records, io.Discard); err != nil {
					return fmt.Errorf("%s: %w", one.name, err)
				}
			}
			took := time.Since(began).Seconds() / float64(one.times)
			after, err := spent(one.pid)
			if err != nil {
				return err
			}
			each := 1e3 / float64(one.times)
			rate[one.name], cpu[one.name] = float64(records)/took, (after.server-before.server).Seconds()*each
			both[one.name] = cpu[one.name] + (after.reader-before.reader).Seconds()*each
			if round > 0 {
				into.Add("transfer/"+one.name+"/time", "ms", took*1e3)
				into.Add("transfer/"+one.name+"/rate", "records/s", rate[one.name])
				into.Add("transfer/"+one.name+"/cpu", "ms", cpu[one.name])
				into.Add("transfer/"+one.name+"/cpu of both ends", "ms", both[one.name])
				into.Add("transfer/"+one.name+"/size", "MB", float64(octets)/1e6)
			}
		}
		if round == 0 {
			continue // pages and heaps are cold
		}
		for _, other := range []string{ofMemory, ofKnot} {
			into.Add("transfer/"+ofPrimary+" ÷ "+other+"/rate", "×", rate[ofPrimary]/rate[other])
			if cpu[other] > 0 { // so little may have used no hundredth of a second
				into.Add("transfer/"+ofPrimary+" ÷ "+other+"/cpu", "×", cpu[ofPrimary]/cpu[other])
				into.Add("transfer/"+ofPrimary+" ÷ "+other+"/cpu of both ends", "×", both[ofPrimary]/both[other])
			}
		}
	}
	return nil
}

// uses is the CPU time of a server and of its client, this process.
type uses struct{ server, reader time.Duration }

func spent(server int) (u uses, err error) {
	if u.server, err = figures.CPU(server); err == nil {
		u.reader, err = figures.CPU(os.Getpid())
	}
	return u, err
}

// profile transfers the zone from a primary of its own with the profiler on.
func (s *stage) profile(ctx context.Context, records int) error {
	if err := os.MkdirAll(s.plan.Profiles, 0o755); err != nil {
		return err
	}
	p, err := role{Zone: bigZone, Records: records, Profile: filepath.Join(s.plan.Profiles, "primary.cpu.pb.gz")}.play(ctx)
	if err != nil {
		return err
	}
	for range max(1, 3*s.plan.Packed/records) {
		if _, err := transfer(ctx, p.at, records, io.Discard); err != nil {
			return err
		}
	}
	s.say("a profile of the primary is in %s", s.plan.Profiles)
	return p.stop()
}

// keepTransfer writes the messages of a transfer to a file.
func keepTransfer(ctx context.Context, server string, records int, file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := transfer(ctx, server, records, f); err != nil {
		return err
	}
	return f.Close()
}

// transfer asks for the zone by AXFR, reads messages until it has all records, NS and both SOAs (RFC 5936 §2.2), and
// hands each on with its length. It counts answers in the headers and parses nothing: the client must not be what is
// measured.
func transfer(ctx context.Context, server string, records int, into io.Writer) (octets int64, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", server)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(waitTimeout))
	q := new(mdns.Msg)
	q.SetAxfr(bigZone)
	wire, err := q.Pack()
	if err != nil {
		return 0, err
	}
	if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(wire))), wire...)); err != nil {
		return 0, err
	}
	want := records + 3
	message := make([]byte, 2+1<<16)
	for answers := 0; answers < want; {
		if _, err := io.ReadFull(conn, message[:2]); err != nil {
			return 0, fmt.Errorf("after %d of %d answers: %w", answers, want, err)
		}
		m := message[:2+int(binary.BigEndian.Uint16(message))]
		if _, err := io.ReadFull(conn, m[2:]); err != nil {
			return 0, fmt.Errorf("after %d of %d answers: %w", answers, want, err)
		}
		if len(m) < 14 || m[5]&0xf != mdns.RcodeSuccess {
			return 0, fmt.Errorf("after %d of %d answers: a message of %d octets with another code than NOERROR", answers, want, len(m)-2)
		}
		if _, err := into.Write(m); err != nil {
			return 0, err
		}
		octets += int64(len(m))
		answers += int(binary.BigEndian.Uint16(m[8:]))
	}
	return octets, nil
}

// stored fills a zone through the API, has `kubizone primary` follow it, and compares its memory with that of a Knot
// with the same zone.
func (s *stage) stored(ctx context.Context, into *figures.Results) error {
	records := s.plan.Stored
	u, err := s.up(ctx, "stored")
	if err != nil {
		return err
	}
	defer u.stop()
	const zone = "big"
	if err := u.zone(ctx, zone, bigZone); err != nil {
		return err
	}
	s.say("filling a zone with %d records through the API", records)
	began := time.Now()
	if err := u.fill(ctx, zone, records); err != nil {
		return err
	}
	into.Add("stored/fill", "records/s", float64(records)/time.Since(began).Seconds())
	command, line, err := launch(ctx, filepath.Join(s.dir, "primary"), s.kubizone, "primary", "--kubeconfig", u.kubeconfig, "--secrets-dir", u.secrets, "--dns-listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer command.stop()
	at := line[strings.LastIndexByte(line, ' ')+1:]
	if err := eventually(ctx, "the primary has every record", func() (bool, error) {
		_, err := transfer(ctx, at, records, io.Discard)
		return err == nil, nil
	}); err != nil {
		return err
	}
	knot, err := rig.StartKnot(ctx, rig.KnotConfig{Template: []string{"zonefile-sync: -1", "journal-content: none"}, Zones: []rig.PrimaryZone{{Zone: bigZone, Text: masterFile(bigZone, records)}}})
	if err != nil {
		return err
	}
	defer knot.Close()
	if _, err := transfer(ctx, knot.Addr.String(), records, io.Discard); err != nil {
		return err
	}
	return weigh(into, map[string]int{ofCommand: command.pid(), ofKnot: knot.Pid()}, ofCommand, records)
}
