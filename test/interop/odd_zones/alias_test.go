// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package odd_zones

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/test/interop/subject"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// makeInjection returns a zone of two tenants. To a server that skips the parameters of an SVCB with priority 0, a
// tenant's value looks like an AAAA of the other tenant's name, at that offset of the message.
func makeInjection(offset int) (file, value string) {
	record := binary.BigEndian.AppendUint16(nil, 1) // class, TTL and length of the AAAA
	record = binary.BigEndian.AppendUint32(record, 300)
	record = binary.BigEndian.AppendUint16(record, 16)
	record = append(record, netip.MustParseAddr("2001:db8:bad::66").AsSlice()...)
	record = append(record, 0xc0, 0x0c, 0xff, 0x00) // the start of a record that swallows the next record
	wire := []byte{0, 0, 0}                         // priority 0, the root
	wire = binary.BigEndian.AppendUint16(wire, uint16(0xc000|offset))
	wire = binary.BigEndian.AppendUint16(wire, uint16(len(record))) // 28, the number of AAAA
	wire = append(wire, record...)
	value = inHex(wire)
	return `inj.example. 300 IN SOA ns.inj.example. host.inj.example. 1 86400 7200 3600000 300
inj.example. 300 IN NS ns.inj.example.
bank.inj.example. 300 IN A 192.0.2.1
m.inj.example. 300 IN TYPE64 ` + value + `
m.inj.example. 1572864 IN TYPE65280 \# 4 00000000
m.inj.example. 1572864 IN TYPE65281 \# 4 00000000
ns.inj.example. 300 IN A 192.0.2.53
`, value
}

// PowerDNS 4.7 reads some SVCB values with priority 0 as further records, by which a tenant could write another
// tenant's name. The API refuses such values (S5.3, S5.11). The test shows the effect with a real PowerDNS.
func TestNoValueIsReadAsRecordsThatFollow(t *testing.T) {
	ctx := rig.Within(t, time.Minute)
	file, _ := makeInjection(0)
	first := subject.Start(t, primary.Config{}, subject.Zone(t, file))
	offset := bytes.Index(firstMessage(t, first.Addr, "inj.example."), []byte("\x04bank"))
	if offset < 0 {
		t.Fatal("the first message of a transfer does not have the name")
	}
	first.Stop()
	file, value := makeInjection(offset)
	for _, text := range []string{value, `0 . key49246="x"`, "0 svc.example. alpn=h2"} {
		for _, rtype := range []string{"SVCB", "HTTPS", "TYPE64", "TYPE65"} {
			record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "attacker"}, Spec: v1alpha1.RecordSpec{DomainName: "m.inj.example.", Type: rtype, RData: text}}
			if errs := validation.Record(record); len(errs) != 1 || errs[0].Field != "spec.rdata" || !strings.Contains(errs[0].Detail, "priority 0") {
				t.Errorf("S5.11: %s %s: %v", rtype, text, errs)
			}
		}
	}

	// The reason: PowerDNS with the zone as it would be.
	serving := subject.Start(t, primary.Config{}, subject.Zone(t, file))
	p := rig.NeedServer(rig.StartPowerDNS(ctx, rig.PowerDNSConfig{Secondaries: []rig.SecondaryZone{{Zone: "inj.example.", Primary: serving.Addr}}}))(t)
	dig := rig.Dig{Server: p.Addr}
	for {
		if serial, ok, err := dig.Serial(ctx, "inj.example."); err == nil && ok && serial == 1 {
			break
		}
		if ctx.Err() != nil {
			t.Skipf("PowerDNS refuses the zone:\n%s", p.Log())
		}
		time.Sleep(50 * time.Millisecond)
	}
	answer := must.Get(dig.Run(ctx, "+short", "+norecurse", "AAAA", "bank.inj.example."))(t)
	if !strings.Contains(answer, "2001:db8:bad::66") {
		t.Logf("this PowerDNS does not read the value so: bank has %q", answer)
	}
}

func firstMessage(t *testing.T, server netip.AddrPort, zone string) []byte {
	t.Helper()
	conn := must.Get(net.Dial("tcp", server.String()))(t)
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	question := []byte{0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for label := range strings.SplitSeq(zone, ".") {
		question = append(append(question, byte(len(label))), label...)
	}
	question = append(question, 0, 252, 0, 1)
	must.Get(conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(question))), question...)))(t)
	var length [2]byte
	must.Get(io.ReadFull(conn, length[:]))(t)
	message := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(conn, message); err != nil {
		t.Fatal(fmt.Errorf("message of %d octets: %w", len(message), err))
	}
	return message
}
