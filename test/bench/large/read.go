// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/test/bench/figures"
)

var reads = []struct {
	what string
	do   func(ctx context.Context, s *server, each func(records int) error) error
}{{"entries", readEntries}, {"axfr", transferZone}}

// measureReads also stops halfway, to measure a reader's memory then.
func (p *plan) measureReads(ctx context.Context, r *figures.Results, n int, s *server) error {
	for _, way := range reads {
		got, count := 0, func(records int) error { return nil }
		whole := func() error {
			got = 0
			err := way.do(ctx, s, func(records int) error { got += records; return count(got) })
			if err == nil && got < n {
				err = fmt.Errorf("%d records of %d", got, n)
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", way.what, err)
			}
			return err
		}
		var elapsed time.Duration
		cpu, mallocs, err := s.measureCPU(ctx, n, func() error {
			began := time.Now()
			defer func() { elapsed = time.Since(began) }()
			return whole()
		})
		if err != nil {
			return err
		}
		r.Add(nameFigure(n, way.what), "s", elapsed.Seconds())
		r.Add(nameFigure(n, way.what+" CPU"), "µs", cpu)
		r.Add(nameFigure(n, way.what+" allocations"), "", mallocs)
		for range 3 { // the server's other work must not count
			before, err := s.measureMemory(ctx)
			if err != nil {
				return err
			}
			var halfway memory
			count = func(got int) (err error) {
				if got > n/2 && halfway.live == 0 {
					halfway, err = s.measureMemory(ctx)
				}
				return err
			}
			if err := whole(); err != nil {
				return err
			}
			r.Add(nameFigure(n, way.what+" holds"), "MB", max(0, halfway.live-before.live)/1e6)
		}
	}
	return nil
}

func readEntries(ctx context.Context, s *server, each func(int) error) error {
	body, err := s.client.KubizoneV1alpha1().RESTClient().Get().Namespace(owner).Resource("zones").Name(big).SubResource("entries").Param("format", "text").Stream(ctx)
	if err != nil {
		return err
	}
	defer body.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := body.Read(buffer)
		if err := each(bytes.Count(buffer[:n], []byte{'\n'})); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// transferZone counts records by message headers (RFC 5936 §2.2): parsing would dominate the time.
func transferZone(_ context.Context, s *server, each func(int) error) error {
	conn, err := net.Dial("tcp", s.dns.String())
	if err != nil {
		return err
	}
	defer conn.Close()
	question, err := new(mdns.Msg).SetAxfr(bigName).Pack()
	if err != nil {
		return err
	}
	if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(question))), question...)); err != nil {
		return err
	}
	var length [2]byte
	message := make([]byte, 1<<16)
	for first := true; ; first = false {
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			return err
		}
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return err
		}
		m := message[:binary.BigEndian.Uint16(length[:])]
		if _, err := io.ReadFull(conn, m); err != nil {
			return err
		}
		if code := m[3] & 15; code != 0 {
			return fmt.Errorf("the transfer is refused: %s", mdns.RcodeToString[int(code)])
		}
		answers := int(binary.BigEndian.Uint16(m[6:]))
		if err := each(answers); err != nil {
			return err
		}
		if last, err := endsWithSOA(m, answers, first); err != nil || last {
			return err
		}
	}
}

func endsWithSOA(m []byte, answers int, first bool) (bool, error) {
	if first && answers < 2 {
		return false, nil
	}
	at := 12
	for range binary.BigEndian.Uint16(m[4:]) {
		_, next, err := mdns.UnpackDomainName(m, at)
		if err != nil {
			return false, err
		}
		at = next + 4
	}
	kind := uint16(0)
	for range answers {
		for at < len(m) && m[at] != 0 && m[at] < 0xc0 { // a name, to its end or to a pointer
			at += 1 + int(m[at])
		}
		if at < len(m) && m[at] >= 0xc0 {
			at++
		}
		at++
		if at+10 > len(m) {
			return false, errors.New("a message of the transfer ends within a record")
		}
		kind = binary.BigEndian.Uint16(m[at:])
		at += 10 + int(binary.BigEndian.Uint16(m[at+8:]))
	}
	return kind == mdns.TypeSOA, nil
}
