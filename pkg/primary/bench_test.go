// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"io"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
)

// sink is a connected pair whose far end reads everything and keeps nothing.
func sink(b *testing.B) net.Conn {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{conn}, make([]byte, 256<<10))
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close(); <-done })
	return conn
}

// spent is the processor time of this process: unlike the wall clock it does not tell of
// its neighbours.
func spent(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkAXFR sends 100,000 A records over loopback and, in the same run and
// alternately, the same octets packed beforehand. Only the ratio means something
// on another machine; it is reported as "×prepacked", and for processor time, both
// ends of the connection included, as "cpu×prepacked".
func BenchmarkAXFR(b *testing.B) {
	const records = 100_000
	s := snapshot(b, "u", "", "example.org.", 7, hosts(records)...)
	r := testResponder(b, served(s), Rules(local, nil))
	wire := pack(b, query("example.org.", mdns.TypeAXFR))
	messages := collect(b, r, wire)
	octets := 0
	for _, m := range messages {
		octets += len(m) + 2
	}
	conn := sink(b)
	m := newMessage()
	var packed, prepacked, packedCPU, prepackedCPU time.Duration
	runtime.GC()
	b.ReportAllocs()
	b.SetBytes(int64(octets))
	for b.Loop() {
		begin, cpu := time.Now(), spent(b)
		a := r.answerMessage(wire, loopback, true)
		if _, err := a.transfer.sendTransfer(m, r.clock, func(framed []byte) error { _, err := conn.Write(framed); return err }); err != nil {
			b.Fatal(err)
		}
		packed += time.Since(begin)
		b.StopTimer()
		packedCPU += spent(b) - cpu
		begin, cpu = time.Now(), spent(b)
		for _, m := range messages {
			if _, err := conn.Write([]byte{byte(len(m) >> 8), byte(len(m))}); err != nil {
				b.Fatal(err)
			}
			if _, err := conn.Write(m); err != nil {
				b.Fatal(err)
			}
		}
		prepacked += time.Since(begin)
		prepackedCPU += spent(b) - cpu
		b.StartTimer()
	}
	b.ReportMetric(float64(packed)/float64(prepacked), "×prepacked")
	b.ReportMetric(float64(packedCPU)/float64(prepackedCPU), "cpu×prepacked")
	b.ReportMetric(float64(packedCPU.Nanoseconds())/float64(b.N)/records, "cpu-ns/record")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
	b.ReportMetric(float64(octets)/records, "octets/record")
}
