// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

var zoneName = name.MustParse("example.org.")

// makeBigZone returns a zone file that needs several messages on any server.
func makeBigZone() string {
	var text strings.Builder
	text.WriteString("$TTL 3600\n@ IN SOA ns1.example.org. hostmaster.example.org. 7 1800 900 604800 300\n@ IN NS ns1.example.org.\nns1 IN A 192.0.2.53\n")
	for i := range 9000 {
		fmt.Fprintf(&text, "host-%d IN TXT \"%s\"\n", i, strings.Repeat("x", 100))
	}
	return text.String()
}

var rigKey = rig.TSIGKey{Name: "transfer", Algorithm: "hmac-sha256", Secret: base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))}

func keyOf(t *testing.T, statement string) *Key {
	t.Helper()
	keys := must.Get(tsig.ParseKeys(statement))(t)
	return &Key{Name: keys[0].Name, Algorithm: string(keys[0].Algorithm), MAC: keys[0].MAC}
}

// BIND and Knot transfer the whole zone to a client with the key, and nothing to a client without a key or with another
// key.
func TestReceive_takesAWholeZoneFromRealServers(t *testing.T) {
	zones := []rig.PrimaryZone{{Zone: zoneName.String(), Text: "$ORIGIN example.org.\n" + makeBigZone(), UpdateKey: rigKey.Name}}
	for which, startServer := range map[string]func(*testing.T) netip.AddrPort{
		"BIND": func(t *testing.T) netip.AddrPort {
			config := rig.BINDConfig{Keys: []rig.TSIGKey{rigKey}, Primaries: zones}
			return rig.NeedServer(rig.StartBIND(t.Context(), config))(t).Addr
		},
		"Knot": func(t *testing.T) netip.AddrPort {
			return rig.NeedServer(rig.StartKnot(t.Context(), rig.KnotConfig{Key: &rigKey, Zones: zones}))(t).Addr
		},
	} {
		t.Run(which, func(t *testing.T) {
			source := Source{Server: startServer(t).String(), Zone: zoneName, Key: keyOf(t, rigKey.Statement())}
			text := must.Get(Receive(t.Context(), source))(t)
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			if len(lines) != 9003 || !strings.Contains(lines[0], "\tSOA\t") || strings.Count(string(text), "\tSOA\t") != 1 {
				t.Errorf("%d records, the first %q", len(lines), lines[0])
			}
			source.Key = nil
			if text, err := Receive(t.Context(), source); err == nil || text != nil || !strings.Contains(err.Error(), "a key that we have") && !strings.Contains(err.Error(), "not the key") {
				t.Errorf("without a key: %d octets, %v", len(text), err)
			}
			other := rigKey
			other.Secret = base64.StdEncoding.EncodeToString([]byte("another secret of 32 octets here"))
			source.Key = keyOf(t, other.Statement())
			if text, err := Receive(t.Context(), source); err == nil || text != nil || !strings.Contains(err.Error(), "BADSIG") {
				t.Errorf("with another secret: %d octets, %v", len(text), err)
			}
			source.Zone, source.Key = name.MustParse("example.net."), keyOf(t, rigKey.Statement())
			if text, err := Receive(t.Context(), source); err == nil || text != nil || !strings.Contains(err.Error(), "example.net.") {
				t.Errorf("a zone it does not have: %d octets, %v", len(text), err)
			}
		})
	}
}

// script is a server that answers one question with the given messages.
type script struct {
	key *Key
	// signed selects the signed messages.
	messages [][]string
	signed   func(i int) bool
	// change alters a message after its signature.
	change func(i int, raw []byte)
	cut    bool
}

func (s script) startServer(t *testing.T) string {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	done := make(chan struct{})
	t.Cleanup(func() { listener.Close(); <-done })
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(time.Minute))
		raw, err := readMessage(conn, defaultWait)
		if err != nil {
			t.Error(err)
			return
		}
		question := new(mdns.Msg)
		if err := question.Unpack(raw); err != nil {
			t.Error(err)
			return
		}
		for _, raw := range s.answerQuestion(t, question) {
			if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(raw))), raw...)); err != nil {
				return // the client has closed
			}
		}
		if !s.cut {
			readMessage(conn, defaultWait) // until the client closes
		}
	}()
	return listener.Addr().String()
}

// answerQuestion returns the signed messages. It follows RFC 8945 §5.3.1 and shares no code with the client.
func (s script) answerQuestion(t *testing.T, question *mdns.Msg) [][]byte {
	var all [][]byte
	var mac, since []byte
	first := true
	if asked := question.IsTsig(); asked != nil {
		mac, _ = hex.DecodeString(asked.MAC)
	}
	for i, records := range s.messages {
		m := new(mdns.Msg)
		m.SetReply(question)
		m.Extra = nil
		for _, text := range records {
			rr, err := mdns.NewRR(text)
			if err != nil {
				t.Error(err)
				return nil
			}
			m.Answer = append(m.Answer, rr)
		}
		raw, err := m.Pack()
		if err != nil {
			t.Error(err)
			return nil
		}
		if s.key == nil || !s.signed(i) {
			since = append(since, raw...)
			if s.change != nil {
				s.change(i, raw)
			}
			all = append(all, raw)
			continue
		}
		now := uint64(time.Now().Unix())
		timers := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(nil, uint16(now>>32)), uint32(now)), 300)
		variables := timers
		if first {
			variables = slices.Concat(packName(s.key.Name), []byte{0, 255, 0, 0, 0, 0}, packName(s.key.Algorithm), timers,
				[]byte{0, 0, 0, 0})
		}
		mac = s.key.MAC(binary.BigEndian.AppendUint16(nil, uint16(len(mac))), mac, since, raw, variables)
		tsig := &mdns.TSIG{
			Hdr:       mdns.RR_Header{Name: s.key.Name, Rrtype: mdns.TypeTSIG, Class: mdns.ClassANY},
			Algorithm: s.key.Algorithm, TimeSigned: now, Fudge: 300, MACSize: uint16(len(mac)), MAC: hex.EncodeToString(mac), OrigId: m.Id,
		}
		m.Extra = append(m.Extra, tsig)
		if raw, err = m.Pack(); err != nil {
			t.Error(err)
			return nil
		}
		if s.change != nil {
			s.change(i, raw)
		}
		first, since = false, nil
		all = append(all, raw)
	}
	return all
}

func packName(text string) []byte {
	buf := make([]byte, 256)
	n, err := mdns.PackDomainName(text, buf, 0, nil, false)
	if err != nil {
		panic(err)
	}
	return buf[:n]
}

const soa = "example.org. 60 IN SOA ns. host. 7 1800 900 604800 300"

// makeBody returns n messages between two SOAs.
func makeBody(n int) [][]string {
	messages := [][]string{{soa}}
	for i := range n {
		messages = append(messages, []string{fmt.Sprintf("h%d.example.org. 60 IN A 192.0.2.%d", i, i%250)})
	}
	return append(messages, []string{soa})
}

// Unsigned messages within a signed transfer are accepted only if the first and last messages are signed, and at most
// 99 unsigned messages come before the next signature, because it covers them. A changed octet in any message is
// detected. A script serves the transfer, because BIND 9.18, Knot 3.2 and NSD 4.6 sign every message.
func TestReceive_takesUnsignedMessagesBetweenSignedOnes(t *testing.T) {
	key := keyOf(t, rigKey.Statement())
	every := func(n int) func(int) bool { return func(i int) bool { return i%n == 0 } }
	flip := func(at int) func(int, []byte) {
		return func(i int, raw []byte) {
			if i == at {
				raw[30] ^= 1 // in a name
			}
		}
	}
	for what, c := range map[string]struct {
		script
		want string
	}{
		"every message":        {script{messages: makeBody(11), signed: every(1)}, ""},
		"every third":          {script{messages: makeBody(11), signed: every(3)}, ""},
		"every hundredth":      {script{messages: makeBody(199), signed: every(100)}, ""},
		"every hundred-first":  {script{messages: makeBody(201), signed: every(101)}, "one in a hundred"},
		"not the first":        {script{messages: makeBody(11), signed: func(i int) bool { return i > 0 }}, "the first has to be signed"},
		"not the last":         {script{messages: makeBody(11), signed: every(5)}, "the last message is not signed"},
		"none":                 {script{messages: makeBody(1), signed: func(int) bool { return false }}, "may not know the key"},
		"a changed signed one": {script{messages: makeBody(11), signed: every(1), change: flip(4)}, "the signature does not hold"},
		"a changed unsigned":   {script{messages: makeBody(11), signed: every(3), change: flip(4)}, "the signature does not hold"},
	} {
		t.Run(what, func(t *testing.T) {
			c.script.key = key
			text, err := Receive(t.Context(), Source{Server: c.script.startServer(t), Zone: zoneName, Key: key})
			if c.want == "" {
				if err != nil || strings.Count(string(text), "\n") != len(c.messages)-1 {
					t.Errorf("%d lines, %v", strings.Count(string(text), "\n"), err)
				}
				return
			}
			if err == nil || text != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d octets, %v; want %q", len(text), err, c.want)
			}
		})
	}
}

func TestReceive_isBounded(t *testing.T) {
	text, err := Receive(t.Context(), Source{Server: script{messages: makeBody(200)}.startServer(t), Zone: zoneName, Limit: 5000})
	if err == nil || text != nil || !strings.Contains(err.Error(), "more than 5000 octets") {
		t.Errorf("%d octets, %v", len(text), err)
	}
}

func TestReceive_takesNoPartOfAZone(t *testing.T) {
	for what, c := range map[string]struct {
		script
		want string
	}{
		"cut": {script{messages: makeBody(3)[:3], cut: true},
			"after 3 records: the server closed the connection before the end"},
		"no SOA":            {script{messages: [][]string{{"www.example.org. 60 IN A 192.0.2.1"}}}, "it begins with www.example.org. A"},
		"of another zone":   {script{messages: [][]string{{strings.Replace(soa, "org", "net", 1)}}}, "not with the SOA of the zone"},
		"another serial":    {script{messages: [][]string{{soa}, {strings.Replace(soa, " 7 ", " 8 ", 1)}}}, "began with serial 7 and ends with 8"},
		"empty":             {script{messages: [][]string{{}}}, "an answer without records"},
		"more than the end": {script{messages: [][]string{{soa, soa, "www.example.org. 60 IN A 192.0.2.1"}}}, "after the SOA that ends the zone"},
		"another question":  {script{messages: makeBody(1), change: func(_ int, raw []byte) { raw[0] ^= 1 }}, "answers another question"},
		"refused":           {script{messages: [][]string{{}}, change: func(_ int, raw []byte) { raw[3] |= 5 }}, "REFUSED"},
	} {
		t.Run(what, func(t *testing.T) {
			text, err := Receive(t.Context(), Source{Server: c.script.startServer(t), Zone: zoneName})
			if err == nil || text != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d octets, %v; want %q", len(text), err, c.want)
			}
		})
	}
}

// A transfer of differences (RFC 1995 §4) may come in one message or many, in several steps, or as the whole zone, and
// is always complete or an error.
func TestFetch_takesDifferences(t *testing.T) {
	at := func(serial int) string { return strings.Replace(soa, " 7 ", fmt.Sprintf(" %d ", serial), 1) }
	a := func(n int) string { return fmt.Sprintf("a%d.example.org. 60 IN A 192.0.2.%d", n, n) }
	one := []string{at(9), at(7), a(1), at(8), a(2), at(8), a(2), at(9), a(3), a(4), at(9)}
	apart := func(records []string) (messages [][]string) {
		for _, record := range records {
			messages = append(messages, []string{record})
		}
		return messages
	}
	key := keyOf(t, rigKey.Statement())
	for what, c := range map[string]struct {
		messages [][]string
		want     string // passed on after the SOA
		err      string
	}{
		"two steps":                  {[][]string{one}, "-1+2-2+3+4", ""},
		"a record a message":         {apart(one), "-1+2-2+3+4", ""},
		"a step that changes no RR":  {[][]string{{at(9), at(7), at(9), at(9)}}, "", ""},
		"the whole zone":             {[][]string{{at(9), a(1), a(2), at(9)}}, "whole+1+2", ""},
		"the whole zone, apart":      {apart([]string{at(9), a(1), a(2), at(9)}), "whole+1+2", ""},
		"an empty zone":              {[][]string{{at(9), at(9)}}, "whole", ""},
		"nothing new":                {[][]string{{at(7)}}, "", ""},
		"an earlier serial":          {[][]string{{at(6)}}, "", "not ahead of 7"},
		"an unrelated serial":        {[][]string{{at(7 - 1<<31 + 1<<32)}}, "", "not ahead of 7"},
		"differences since another":  {[][]string{{at(9), at(6), a(1), at(9), at(9)}}, "", "since serial 6 where one since 7"},
		"a step is missing":          {[][]string{{at(9), at(7), a(1), at(8), a(2), at(6), at(9), at(9)}}, "", "since serial 6 where one since 8"},
		"it ends before its serial":  {[][]string{{at(9), at(7), a(1), at(8), a(2), at(9)}}, "", "since serial 9 where one since 8"},
		"cut":                        {[][]string{one[:6]}, "", "before the end"},
		"more than the end":          {[][]string{append(slices.Clone(one), a(5))}, "", "after the SOA that ends"},
		"the whole zone of two ages": {[][]string{{at(9), a(1), at(8)}}, "", "ends with 8"},
	} {
		t.Run(what, func(t *testing.T) {
			got, since := "", serial.Serial(7)
			server := script{messages: c.messages, cut: true, key: key, signed: func(int) bool { return true }}.startServer(t)
			fetched, err := Fetch(t.Context(), Source{Server: server, Zone: zoneName, Key: key}, &since, func(rr mdns.RR, removed bool) {
				switch first, isSOA := strings.Split(rr.Header().Name, ".")[0], rr.Header().Rrtype == mdns.TypeSOA; {
				case isSOA:
					got += "SOA"
				case removed:
					got += "-" + first[1:]
				default:
					got += "+" + first[1:]
				}
			})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%v, want %q", err, c.err)
				}
				return
			}
			rest, whole := strings.CutPrefix(c.want, "whole")
			if err != nil || got != "SOA"+rest || fetched.Whole != whole || fetched.Octets == 0 || fetched.Serial != 9 && what != "nothing new" {
				t.Errorf("%s, %+v, %v; want %s", got, fetched, err, c.want)
			}
		})
	}
}

func TestParseSource_readsURLs(t *testing.T) {
	for text, want := range map[string]Source{
		"axfr://192.0.2.1/example.org":                {Server: "192.0.2.1:53", Zone: zoneName},
		"axfr://192.0.2.1:5353/example.org.":          {Server: "192.0.2.1:5353", Zone: zoneName},
		"axfr://[2001:db8::1]/Example.ORG":            {Server: "[2001:db8::1]:53", Zone: zoneName},
		"axfr://[2001:db8::1]:5353/.":                 {Server: "[2001:db8::1]:5353", Zone: name.Root},
		"axfr://ns.example/0/25.2.0.192.in-addr.arpa": {Server: "ns.example:53", Zone: name.MustParse("0/25.2.0.192.in-addr.arpa.")},
	} {
		if got, err := ParseSource(text); err != nil || got.Server != want.Server || got.Zone != want.Zone {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "axfr://", "axfr:///example.org", "axfr://192.0.2.1", "axfr://192.0.2.1/", "http://192.0.2.1/example.org", "axfr://192.0.2.1/exa mple"} {
		if got, err := ParseSource(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, got)
		}
	}
}

// The error for a refused signature says what to compare, for each TSIG error (RFC 8945 §5.2).
func TestRefusal_saysWhatToCompare(t *testing.T) {
	for code, want := range map[int]string{mdns.RcodeBadKey: "no key of this name", mdns.RcodeBadSig: "another secret",
		mdns.RcodeBadTime: "set the wrong clock", mdns.RcodeBadTrunc: "compare name, algorithm and secret"} {
		text := (&Refusal{Rcode: mdns.RcodeNotAuth, TSIG: code}).Error()
		if !strings.Contains(text, want) || !strings.HasPrefix(text, "NOTAUTH, TSIG error BAD") || code != mdns.RcodeBadTime &&
			strings.Contains(text, "clock") {
			t.Errorf("%d: %s", code, text)
		}
	}
}
