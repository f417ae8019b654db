// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
)

// BenchmarkTransfer_overTLS transfers a zone of 100,000 records over TCP and over TLS by turns, with their handshakes,
// and reports the medians of time and of the ratio in a pair (docs/performance.md).
func BenchmarkTransfer_overTLS(b *testing.B) {
	w := startTLS(b, func(w *tlsWorld, c *Config) {
		c.Zones = serveZones(makeSnapshot(b, "u", "", "example.org.", 7, makeHosts(100_000)...))
	})
	must.Get(w.AddClass(ClassConfig{Name: "clear", Allow: Rules([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil)},
		Membership{Serial: 1, Members: []Member{{"u", name.MustParse("example.org.")}}}))(b)
	client := clientConfig(b, serverName, w.authority, issuePair(b, w.clientCA, "ns1.example.org", time.Hour))
	transferred := func(dial func() (net.Conn, error)) float64 {
		began := time.Now()
		conn := must.Get(dial())(b)
		defer conn.Close()
		if n := drainTransfer(b, conn); n < 100_000 {
			b.Fatalf("%d records", n)
		}
		return float64(time.Since(began)) / float64(time.Millisecond)
	}
	var clear, secure, ratios []float64
	for b.Loop() {
		c := transferred(func() (net.Conn, error) { return net.Dial("tcp", w.Addr().String()) })
		s := transferred(func() (net.Conn, error) { return tls.Dial("tcp", w.TLSAddr().String(), client) })
		clear, secure, ratios = append(clear, c), append(secure, s), append(ratios, s/c)
	}
	for unit, values := range map[string][]float64{"ms-tcp": clear, "ms-tls": secure, "tls/tcp": ratios} {
		slices.Sort(values)
		b.ReportMetric(values[len(values)/2], unit)
	}
}

// drainTransfer counts the records of an AXFR by the headers of its messages.
func drainTransfer(b *testing.B, conn net.Conn) (records int) {
	msg := must.Get(makeQuery("example.org.", mdns.TypeAXFR).Pack())(b)
	must.Get(conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(msg))), msg...)))(b)
	var length [2]byte
	buf := make([]byte, 1<<16)
	for records < 100_003 { // two SOA, one NS
		must.Get(io.ReadFull(conn, length[:]))(b)
		part := buf[:binary.BigEndian.Uint16(length[:])]
		must.Get(io.ReadFull(conn, part))(b)
		records += int(binary.BigEndian.Uint16(part[6:]))
	}
	return records
}
