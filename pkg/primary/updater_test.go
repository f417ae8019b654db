// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"k8s.io/klog/v2"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/dns/update"
	"kubi.zone/kubizone/pkg/primary/updates"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/test/must"
)

type recordedUpdates struct {
	mu     sync.Mutex
	calls  []string
	ids    []string
	answer func(ctx context.Context, key *updates.Key) uint16
}

func (u *recordedUpdates) Update(ctx context.Context, key *updates.Key, m *update.Message, from netip.Addr) uint16 {
	u.mu.Lock()
	if len(m.Updates) > 0 {
		u.calls, u.ids = append(u.calls, fmt.Sprintf("%s %s from %s", key.ID, m.Zone, from)), append(u.ids, m.ID)
	}
	u.mu.Unlock()
	switch {
	case len(m.Updates) > 0:
		return u.answer(ctx, key)
	case m.Zone != name.MustParse("example.org."):
		return mdns.RcodeNotAuth
	case len(m.Prerequisites) == 1 && strings.Contains(m.Prerequisites[0].Name.String(), "others"):
		return mdns.RcodeRefused
	}
	return mdns.RcodeSuccess
}

func (u *recordedUpdates) Share(_ context.Context, key *updates.Key, zone name.Name) ([]content.RRset, error) {
	if zone != name.MustParse("example.org.") {
		return nil, fmt.Errorf("share of %s", zone)
	}
	set := content.RRset{Owner: name.MustRel("own.apps"), Type: rdata.A, TTL: content.ExplicitTTL(60), Data: []string{"192.0.2.9"}}
	return []content.RRset{set}, nil
}

func (u *recordedUpdates) countCalls() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.calls)
}

// makeUpdater returns a tenant's update key for apps.example.org. and the names below.
func makeUpdater(t testing.TB, tenant string, transfer updates.Transfer) *updates.Key {
	covered := name.MustParse("apps.example.org.")
	return &updates.Key{Key: testKey(t, tenant+".update.", tsig.HMACSHA256), ID: tenant + "/key", Tenant: tenant, Transfer: transfer,
		Covers:  func(fqdn name.Name) bool { _, in := fqdn.Rel(covered); return in },
		Reaches: func(zone name.Name) bool { _, in := covered.Rel(zone); return in },
	}
}

func makeUpdate(owner string) *mdns.Msg {
	m := new(mdns.Msg)
	m.SetUpdate("example.org.")
	m.Insert([]mdns.RR{&mdns.A{Hdr: mdns.RR_Header{Name: owner, Rrtype: mdns.TypeA, Class: mdns.ClassINET, Ttl: 60},
		A: net.IPv4(192, 0, 2, 1)}})
	return m
}

func startUpdated(t *testing.T, u *recordedUpdates, keys ...*updates.Key) *Primary {
	t.Helper()
	p := newUpdated(t, u, keys...)
	runUntilCleanup(t, p)
	return p
}

func newUpdated(t *testing.T, u *recordedUpdates, keys ...*updates.Key) *Primary {
	t.Helper()
	zones := serveZones(
		makeSnapshot(t, "org", "", "example.org.", 7, "www.apps A 192.0.2.1", "secret A 192.0.2.2", "others.apps A 192.0.2.3",
			"alias.apps CNAME secret", "*.wild.apps A 192.0.2.4", "deep.empty.apps A 192.0.2.5", "child.apps NS ns.child.apps",
			"ns.child.apps A 192.0.2.6"),
		makeSnapshot(t, "net", "", "example.net.", 7, "www A 192.0.2.1"),
		makeSnapshot(t, "inside", "inside", "example.org.", 9, "www.apps A 10.0.0.1"))
	p := must.Get(New(Config{Zones: zones, Updates: u, Allow: []Rule{}, Views: []string{},
		Listen: netip.MustParseAddrPort("127.0.0.1:0")}))(t)
	// The queue starts an hour ago, so that messages signed in the first second are not taken for replays.
	p.tcp.updates = updates.NewQueue(u, func() time.Time { return time.Now().Add(-time.Hour) }, klog.Background())
	must.Succeed(t, p.SetUpdateKeys(keys))
	return p
}

func exchangeSigned(t *testing.T, p *Primary, over string, m *mdns.Msg, key *updates.Key) *mdns.Msg {
	t.Helper()
	c := &mdns.Client{Net: over, TsigProvider: macBy{key.Key}, Timeout: time.Minute, UDPSize: 4096}
	m.SetTsig(key.Name, string(key.Algorithm), 300, time.Now().Unix())
	answer, _, err := c.Exchange(m, p.Addr().String())
	if err != nil {
		t.Fatalf("%s: %v", over, err)
	}
	return answer
}

func sendDatagram(t *testing.T, p *Primary, wire []byte) *mdns.Msg {
	t.Helper()
	conn := dial(t, p, "udp")
	must.Get(conn.Write(wire))(t)
	buf := make([]byte, 512)
	n := must.Get(conn.Read(buf))(t)
	return unpackMessage(t, buf[:n])
}

func TestUpdate_isCarriedOutForItsKey(t *testing.T) {
	u := &recordedUpdates{answer: func(context.Context, *updates.Key) uint16 { return mdns.RcodeYXRrset }}
	key := makeUpdater(t, "team", updates.TransferNone)
	p := startUpdated(t, u, key)
	for _, over := range []string{"udp", "tcp"} {
		m := exchangeSigned(t, p, over, makeUpdate(over+".apps.example.org."), key)
		if m.Rcode != mdns.RcodeYXRrset || m.Opcode != mdns.OpcodeUpdate {
			t.Errorf("%s: %v", over, m)
		}
	}
	if want := "team/key example.org. from 127.0.0.1"; u.countCalls() != 2 || u.calls[0] != want || u.calls[1] != want {
		t.Errorf("%q", u.calls)
	}
	stranger := makeUpdater(t, "stranger", updates.TransferNone)
	signed, _ := signQuery(t, makeUpdate("x.apps.example.org."), stranger.Key, time.Now())
	unsigned := packMessage(t, makeUpdate("x.apps.example.org."))
	for what, wire := range map[string][]byte{"unsigned": unsigned, "a key that is not here": signed} {
		a := p.tcp.answerMessage(wire, sentBy(loopback, false))
		if m := unpackMessage(t, a.msg); a.update != nil || m.Rcode != mdns.RcodeRefused && m.Rcode != mdns.RcodeNotAuth {
			t.Errorf("%s: %v", what, m)
		}
	}
}

// An UPDATE message is parsed by the format of updates, not of queries. An SOA among the updates is not the serial of
// an IXFR, and a message without a zone is malformed (RFC 2136 §3.1.1).
func TestUpdate_formIsThatOfUpdates(t *testing.T) {
	u := &recordedUpdates{answer: func(context.Context, *updates.Key) uint16 { return mdns.RcodeRefused }}
	key := makeUpdater(t, "team", updates.TransferNone)
	p := startUpdated(t, u, key)
	deleteSOA := makeUpdate("www.apps.example.org.")
	deleteSOA.RemoveRRset([]mdns.RR{&mdns.SOA{Hdr: mdns.RR_Header{Name: "example.org.", Rrtype: mdns.TypeSOA}}})
	if m := exchangeSigned(t, p, "tcp", deleteSOA, key); m.Rcode != mdns.RcodeRefused || u.countCalls() != 1 {
		t.Errorf("a deletion of the SOA: %v, %d messages were given on", m, u.countCalls())
	}
	noZone := makeUpdate("www.apps.example.org.")
	noZone.Question = nil
	wire, _ := signQuery(t, noZone, key.Key, time.Now())
	a := p.tcp.answerMessage(wire, sentBy(loopback, true))
	if m := unpackMessage(t, a.msg); a.update != nil || m.Rcode != mdns.RcodeFormatError {
		t.Errorf("no zone: %v", m)
	}
}

// A repeated message gets the answer to the first, also if it comes from another port or while the first is in
// progress. It is not applied again, because its prerequisites may no longer hold, and an attacker could replay a
// recorded message.
func TestUpdate_repeatedMessagesAreCarriedOutOnce(t *testing.T) {
	begun, release := make(chan struct{}, 8), make(chan struct{})
	u := &recordedUpdates{answer: func(context.Context, *updates.Key) uint16 {
		begun <- struct{}{}
		<-release
		return mdns.RcodeSuccess
	}}
	key := makeUpdater(t, "team", updates.TransferNone)
	p := startUpdated(t, u, key)
	wire, _ := signQuery(t, makeUpdate("www.apps.example.org."), key.Key, time.Now())
	answers := make(chan int, 8)
	send := func() {
		conn := dial(t, p, "udp")
		must.Get(conn.Write(wire))(t)
		go func() {
			buf := make([]byte, 512)
			n, err := conn.Read(buf)
			if err != nil {
				answers <- -1
				return
			}
			answers <- unpackMessage(t, buf[:n]).Rcode
		}()
	}
	send()
	<-begun
	send()
	send()
	close(release)
	send()
	for range 4 {
		if rcode := <-answers; rcode != mdns.RcodeSuccess {
			t.Errorf("RCODE %d", rcode)
		}
	}
	if u.countCalls() != 1 {
		t.Errorf("carried out %d times", u.countCalls())
	}
}

// A client retries after SERVFAIL, and the retry is applied under the ID of the message, until there is an outcome.
func TestUpdate_whatFailedIsCarriedOutAgain(t *testing.T) {
	u := &recordedUpdates{}
	u.answer = func(context.Context, *updates.Key) uint16 {
		if u.countCalls() == 1 {
			return mdns.RcodeServerFailure
		}
		if u.countCalls() == 2 {
			panic("as a defect does")
		}
		return mdns.RcodeSuccess
	}
	key := makeUpdater(t, "team", updates.TransferNone)
	p := startUpdated(t, u, key)
	at := time.Now()
	once, _ := signQuery(t, makeUpdate("www.apps.example.org."), key.Key, at)
	other, _ := signQuery(t, makeUpdate("www.apps.example.org."), key.Key, at.Add(time.Second))
	for i, wire := range [][]byte{once, once, once, once, other} {
		if m := sendDatagram(t, p, wire); (m.Rcode == mdns.RcodeServerFailure) != (i < 2) {
			t.Errorf("%d: %v", i, m)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if ids := u.ids; len(ids) != 4 || ids[0] == "" || ids[0] != ids[1] || ids[0] != ids[2] || ids[0] == ids[3] {
		t.Errorf("ids %q", ids)
	}
}

// While a tenant's updates hang, queries over the same UDP socket are answered, and another tenant's updates are
// applied. The first tenant gets SERVFAIL for messages beyond its share of slots.
func TestUDP_answersWhileUpdatesHang(t *testing.T) {
	begun, release := make(chan struct{}, updates.MaxWaitingOfTenant), make(chan struct{})
	u := &recordedUpdates{answer: func(_ context.Context, key *updates.Key) uint16 {
		if key.Tenant == "noisy" {
			begun <- struct{}{}
			<-release
		}
		return mdns.RcodeSuccess
	}}
	noisy, quiet := makeUpdater(t, "noisy", updates.TransferNone), makeUpdater(t, "quiet", updates.TransferNone)
	p := startUpdated(t, u, noisy, quiet)
	defer close(release)
	conn := dial(t, p, "udp")
	for i := range updates.MaxWaitingOfTenant + 1 {
		wire, _ := signQuery(t, makeUpdate(fmt.Sprintf("h%d.apps.example.org.", i)), noisy.Key, time.Now())
		must.Get(conn.Write(wire))(t)
	}
	buf := make([]byte, 512)
	n := must.Get(conn.Read(buf))(t) // the answer to the message beyond the share
	if m := unpackMessage(t, buf[:n]); m.Rcode != mdns.RcodeServerFailure {
		t.Errorf("above the share: %v", m)
	}
	for range updates.MaxRunningOfTenant + updates.Spare {
		<-begun
	}
	if m := exchangeSigned(t, p, "udp", makeQuery("example.org.", mdns.TypeSOA), quiet); len(m.Answer) != 1 {
		t.Errorf("a question: %v", m)
	}
	if m := exchangeSigned(t, p, "udp", makeUpdate("www.apps.example.org."), quiet); m.Rcode != mdns.RcodeSuccess {
		t.Errorf("another tenant: %v", m)
	}
	if len(begun) > 0 {
		t.Errorf("%d messages more are under way than may be", len(begun))
	}
}

// An UPDATE that is in progress when the primary stops is applied and answered within StopTimeout, over UDP and TCP.
func TestRun_answersUpdatesInProgress(t *testing.T) {
	key := makeUpdater(t, "team", updates.TransferNone)
	for _, over := range []string{"udp", "tcp"} {
		for _, test := range []struct {
			stopTimeout time.Duration
			want        int
		}{{time.Minute, mdns.RcodeSuccess}, {time.Nanosecond, mdns.RcodeServerFailure}} {
			t.Run(fmt.Sprint(over, test.stopTimeout), func(t *testing.T) {
				begun, release := make(chan struct{}), make(chan struct{})
				p := newUpdated(t, &recordedUpdates{answer: func(ctx context.Context, _ *updates.Key) uint16 {
					close(begun)
					select {
					case <-release:
						return mdns.RcodeSuccess
					case <-ctx.Done():
						return mdns.RcodeServerFailure
					}
				}}, key)
				p.config.StopTimeout = test.stopTimeout
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				done := make(chan error, 1)
				go func() { done <- p.Run(ctx) }()
				wire, _ := signQuery(t, makeUpdate("www.apps.example.org."), key.Key, time.Now())
				conn := &mdns.Conn{Conn: dial(t, p, over)}
				must.Get(conn.Write(wire))(t)
				<-begun
				stop()
				for open := true; open; { // until the listener is closed
					probe, err := net.Dial("tcp", p.Addr().String())
					if open = err == nil; open {
						probe.Close()
					}
				}
				if test.want == mdns.RcodeSuccess {
					close(release)
				}
				buf := make([]byte, 512)
				if n, err := conn.Read(buf); err != nil && (over == "udp" || test.want == mdns.RcodeSuccess) {
					t.Errorf("no answer: %v", err)
				} else if err == nil && unpackMessage(t, buf[:n]).Rcode != test.want {
					t.Errorf("%v", unpackMessage(t, buf[:n]))
				}
				must.Succeed(t, <-done)
			})
		}
	}
}

// The client of an update key can query only the key's own names, as clients do before an update.
func TestUpdateKey_asksItsNamesAlone(t *testing.T) {
	key := makeUpdater(t, "team", updates.TransferNone)
	inside := makeUpdater(t, "inner", updates.TransferNone)
	inside.View = "inside"
	wide := makeUpdater(t, "wide", updates.TransferNone)
	wide.Covers, wide.Reaches = func(name.Name) bool { return true }, func(name.Name) bool { return true }
	p := startUpdated(t, &recordedUpdates{}, key, inside, wide)
	for _, test := range []struct {
		by    *updates.Key
		fqdn  string
		qtype uint16
		want  string
	}{
		{key, "example.org.", mdns.TypeSOA, "NOERROR 1 0"},
		{key, "example.org.", mdns.TypeNS, "NOERROR 1 0"},
		{key, "www.apps.example.org.", mdns.TypeA, "NOERROR 1 0"},
		{key, "www.apps.example.org.", mdns.TypeAAAA, "NOERROR 0 1"},
		{key, "new.apps.example.org.", mdns.TypeA, "NXDOMAIN 0 1"},
		// A CNAME, a wildcard, a name below or a delegation discloses nothing about other names.
		{key, "alias.apps.example.org.", mdns.TypeA, "NOERROR 1 0"},
		{key, "alias.apps.example.org.", mdns.TypeCNAME, "NOERROR 1 0"},
		{key, "new.wild.apps.example.org.", mdns.TypeA, "NXDOMAIN 0 1"},
		{key, "empty.apps.example.org.", mdns.TypeA, "NXDOMAIN 0 1"},
		{key, "child.apps.example.org.", mdns.TypeA, "NOERROR 0 1"},
		{key, "new.child.apps.example.org.", mdns.TypeA, "NXDOMAIN 0 1"},
		// An SOA query below the apex does not disclose whether the name exists.
		{key, "www.apps.example.org.", mdns.TypeSOA, "NOERROR 0 1"},
		{key, "secret.example.org.", mdns.TypeSOA, "NOERROR 0 1"},
		{key, "absent.example.org.", mdns.TypeSOA, "NOERROR 0 1"},
		{key, "secret.example.org.", mdns.TypeA, "REFUSED 0 0"},
		// Names of the key are not disclosed if no rule gives them to the tenant.
		{key, "others.apps.example.org.", mdns.TypeA, "REFUSED 0 0"},
		{wide, "example.net.", mdns.TypeSOA, "REFUSED 0 0"},
		{wide, "www.example.net.", mdns.TypeSOA, "REFUSED 0 0"},
		{wide, "www.example.net.", mdns.TypeA, "REFUSED 0 0"},
		{wide, "example.net.", mdns.TypeNS, "REFUSED 0 0"},
		{wide, "example.net.", mdns.TypeIXFR, "REFUSED 0 0"},
		{key, "absent.example.org.", mdns.TypeA, "REFUSED 0 0"},
		{key, "example.org.", mdns.TypeMX, "REFUSED 0 0"},
		{key, "example.net.", mdns.TypeSOA, "REFUSED 0 0"},
		{key, "example.com.", mdns.TypeSOA, "REFUSED 0 0"},
		{key, "example.org.", mdns.TypeAXFR, "REFUSED 0 0"},
		{inside, "example.org.", mdns.TypeSOA, "NOERROR 1 0"},
		{inside, "example.org.", mdns.TypeAXFR, "REFUSED 0 0"},
	} {
		m := exchangeSigned(t, p, "tcp", makeQuery(test.fqdn, test.qtype), test.by)
		if got := fmt.Sprintf("%s %d %d", mdns.RcodeToString[m.Rcode], len(m.Answer), len(m.Ns)); got != test.want {
			t.Errorf("%s %s of %s: %s, want %s", test.fqdn, mdns.TypeToString[test.qtype], test.by.ID, got, test.want)
		}
		if len(m.Extra) != 1 || m.IsTsig() == nil {
			t.Errorf("%s of %s: beside the signature the answer has %v", test.fqdn, test.by.ID, m.Extra)
		}
	}
	soa := exchangeSigned(t, p, "udp", makeQuery("example.org.", mdns.TypeSOA), inside).Answer[0].(*mdns.SOA)
	if soa.Serial != 9 {
		t.Errorf("of another view: %v", soa)
	}
}

func TestUpdateKey_transfers(t *testing.T) {
	own, whole := makeUpdater(t, "team", updates.TransferOwn), makeUpdater(t, "default", updates.TransferZone)
	other := makeUpdater(t, "other", updates.TransferZone)
	p := startUpdated(t, &recordedUpdates{}, own, whole, other)
	transferred := func(key *updates.Key, zone string) string {
		c := &mdns.Transfer{TsigProvider: macBy{key.Key}}
		m := makeQuery(zone, mdns.TypeAXFR)
		m.SetTsig(key.Name, string(key.Algorithm), 300, time.Now().Unix())
		in := must.Get(c.In(m, p.Addr().String()))(t)
		var got []string
		for e := range in {
			if e.Error != nil {
				return e.Error.Error()
			}
			for _, rr := range e.RR {
				got = append(got, rr.Header().Name+" "+mdns.TypeToString[rr.Header().Rrtype])
			}
		}
		return strings.Join(got, ", ")
	}
	soa := "example.org. SOA"
	for what, test := range map[string]struct {
		key  *updates.Key
		zone string
		want string
	}{
		"its own": {own, "example.org.", soa + ", own.apps.example.org. A, " + soa},
		"the whole zone": {whole, "example.org.", soa + ", example.org. NS, alias.apps.example.org. CNAME, " +
			"child.apps.example.org. NS, ns.child.apps.example.org. A, deep.empty.apps.example.org. A, " +
			"others.apps.example.org. A, *.wild.apps.example.org. A, www.apps.example.org. A, secret.example.org. A, " + soa},
		"another's zone":      {other, "example.org.", "bad xfr rcode: 5"},
		"a zone not reached":  {whole, "example.net.", "bad xfr rcode: 5"},
		"a name in the zone":  {whole, "apps.example.org.", "bad xfr rcode: 5"},
		"a zone that is none": {own, "example.com.", "bad xfr rcode: 5"},
	} {
		if got := transferred(test.key, test.zone); !strings.HasSuffix(got, test.want) {
			t.Errorf("%s: %s, want %s", what, got, test.want)
		}
	}
}

// If a class and an UpdateKey have keys with the same name, the class's key is used, in any order of their creation.
// Updates with the other key are refused until the class is removed.
func TestUpdateKey_namesAreOneKeyEach(t *testing.T) {
	u := &recordedUpdates{answer: func(context.Context, *updates.Key) uint16 { return mdns.RcodeSuccess }}
	first, second := makeUpdater(t, "team", updates.TransferNone), makeUpdater(t, "late", updates.TransferNone)
	second.Key = must.Get(tsig.NewKey(first.Name, tsig.HMACSHA256, []byte("another secret of many octets !!")))(t)
	p := startUpdated(t, u, first)
	if m := exchangeSigned(t, p, "udp", makeUpdate("a.apps.example.org."), first); m.Rcode != mdns.RcodeSuccess {
		t.Error(m)
	}
	class := must.Get(p.AddClass(ClassConfig{Name: "edge", Keys: []tsig.Key{second.Key}, Allow: []Rule{{Key: second.Name}}},
		Membership{Members: []Member{{"org", name.MustParse("example.org.")}}, Serial: 1}))(t)
	if m := exchangeSigned(t, p, "udp", makeQuery("secret.example.org.", mdns.TypeA), second); len(m.Answer) != 1 {
		t.Errorf("the key of the class: %v", m)
	}
	if m := exchangeSigned(t, p, "udp", makeUpdate("b.apps.example.org."), second); m.Rcode != mdns.RcodeRefused {
		t.Errorf("an update by the key of a class: %v", m)
	}
	must.Succeed(t, p.SetUpdateKeys([]*updates.Key{first}))
	if m := exchangeSigned(t, p, "udp", makeUpdate("b.apps.example.org."), second); m.Rcode != mdns.RcodeRefused {
		t.Errorf("an update by the key of a class, when update keys have come again: %v", m)
	}
	if !p.HasClassKey(first.Name) {
		t.Error("the class has no key of the name")
	}
	class.Close()
	if p.HasClassKey(first.Name) {
		t.Error("a key of a class that is gone")
	}
	must.Succeed(t, p.SetUpdateKeys([]*updates.Key{first}))
	if m := exchangeSigned(t, p, "udp", makeUpdate("c.apps.example.org."), first); m.Rcode != mdns.RcodeSuccess {
		t.Error(m)
	}
}

// A client that signs with an algorithm other than its key's gets NOTAUTH. The log names the remedy, but at most once a
// minute, although the controller sets the keys again every few seconds.
func TestUpdateKey_otherAlgorithmIsSaid(t *testing.T) {
	key := makeUpdater(t, "team", updates.TransferNone)
	p := startUpdated(t, &recordedUpdates{}, key)
	now := time.Now()
	p.tcp.clock = func() time.Time { return now }
	m := makeUpdate("www.apps.example.org.")
	m.SetTsig(key.Name, mdns.HmacSHA1, 300, now.Unix())
	wire, _, err := mdns.TsigGenerateWithProvider(m, macBy{key.Key}, "", false)
	must.Succeed(t, err)
	message := "signs with hmac-sha1, and the key is for hmac-sha256: set the algorithm"
	for after, want := range []string{message, "", message} {
		now = now.Add(time.Duration(after) * 30 * time.Second)
		must.Succeed(t, p.SetUpdateKeys([]*updates.Key{key}))
		a := p.tcp.answerMessage(wire, sentBy(loopback, false))
		m := unpackMessage(t, a.msg)
		if m.Rcode != mdns.RcodeNotAuth || (want == "") != (a.advice == "") || !strings.Contains(a.advice, want) {
			t.Errorf("%v, said %q, want %q", m, a.advice, want)
		}
	}
}

// Each primary keeps its own list of applied messages. A recorded message is therefore applied once more by another
// primary, but only while the signature is valid (docs/updates.md).
func TestUpdate_anotherPrimaryKnowsNoMessageOfThisOne(t *testing.T) {
	u := &recordedUpdates{answer: func(context.Context, *updates.Key) uint16 { return mdns.RcodeSuccess }}
	key := makeUpdater(t, "team", updates.TransferNone)
	one, other := startUpdated(t, u, key), startUpdated(t, u, key)
	fresh, _ := signQuery(t, makeUpdate("www.apps.example.org."), key.Key, time.Now())
	late, _ := signQuery(t, makeUpdate("www.apps.example.org."), key.Key, time.Now().Add(-tsig.Fudge-10*time.Second))
	for _, step := range []struct {
		to           *Primary
		wire         []byte
		rcode, calls int
	}{
		{one, fresh, mdns.RcodeSuccess, 1}, {one, fresh, mdns.RcodeSuccess, 1}, {other, fresh, mdns.RcodeSuccess, 2},
		{other, fresh, mdns.RcodeSuccess, 2}, {other, late, mdns.RcodeNotAuth, 2},
	} {
		if rcode := sendDatagram(t, step.to, step.wire).Rcode; rcode != step.rcode || u.countCalls() != step.calls {
			t.Errorf("RCODE %d, want %d; carried out %d times, want %d", rcode, step.rcode, u.countCalls(), step.calls)
		}
	}
}

// A tenant opens ten thousand connections, and sends on each a signed query and half a message. Updates of another
// tenant still succeed, over TCP and UDP.
func TestUpdate_slowConnectionsTakeNoPlacesOfOthers(t *testing.T) {
	u := &recordedUpdates{answer: func(context.Context, *updates.Key) uint16 { return mdns.RcodeSuccess }}
	slow, other := makeUpdater(t, "slow", updates.TransferNone), makeUpdater(t, "other", updates.TransferNone)
	p := startUpdated(t, u, slow, other)
	question, _ := signQuery(t, makeQuery("www.apps.example.org.", mdns.TypeA), slow.Key, time.Now())
	var open []net.Conn
	t.Cleanup(func() {
		for _, conn := range open {
			conn.Close()
		}
	})
	for i := range 10000 {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%200))}, Timeout: time.Minute}
		conn := must.Get(d.Dial("tcp", p.Addr().String()))(t)
		open = append(open, conn)
		conn.SetDeadline(time.Now().Add(time.Minute))
		// The primary may have closed the connection already.
		if _, err := conn.Write(append([]byte{0, byte(len(question))}, question...)); err == nil {
			_, _ = conn.Write([]byte{1, 0, 0})
		}
		if i%1000 == 999 {
			for _, over := range []string{"tcp", "udp"} {
				m := exchangeSigned(t, p, over, makeUpdate(fmt.Sprintf("h%d-%s.apps.example.org.", i, over)), other)
				if m.Rcode != mdns.RcodeSuccess {
					t.Errorf("after %d connections of a tenant, over %s: %v", i+1, over, m)
				}
			}
		}
	}
	if u.countCalls() != 20 {
		t.Errorf("%d updates carried out, want 20", u.countCalls())
	}
}

// makeManyUpdates returns an update message with n records of 16 octets each, in at most 64 KiB.
func makeManyUpdates(n int) *mdns.Msg {
	m := makeUpdate("h.apps.example.org.")
	for len(m.Ns) < n {
		m.Ns = append(m.Ns, m.Ns[0])
	}
	m.Compress = true
	return m
}

// Until an update has a place in the queue, the work for it does not grow with the number of records in the message. A
// message with too many records is refused by the counts in its header (attack 110).
func TestUpdate_isReadWhenItHasItsPlace(t *testing.T) {
	u := &recordedUpdates{answer: func(context.Context, *updates.Key) uint16 { return mdns.RcodeSuccess }}
	key := makeUpdater(t, "team", updates.TransferNone)
	p := startUpdated(t, u, key)
	few, _ := signQuery(t, makeManyUpdates(1), key.Key, time.Now())
	many, _ := signQuery(t, makeManyUpdates(4000), key.Key, time.Now())
	allocations := func(wire []byte) float64 {
		return testing.AllocsPerRun(10, func() {
			if a := p.tcp.answerMessage(wire, sentBy(loopback, false)); a.update == nil {
				t.Errorf("answered with %v", unpackMessage(t, a.msg))
			}
		})
	}
	if one, all := allocations(few), allocations(many); all > one+100 { // other goroutines allocate too
		t.Errorf("%.0f allocations for one record, %.0f for 4,000", one, all)
	}
	for n, want := range map[int]int{1: mdns.RcodeSuccess, update.MaxRecords: mdns.RcodeSuccess,
		update.MaxRecords + 1: mdns.RcodeRefused, 4000: mdns.RcodeRefused} {
		m := exchangeSigned(t, p, "tcp", makeManyUpdates(n), key)
		if m.Rcode != want {
			t.Errorf("%d records: %v", n, m)
		}
	}
	if u.countCalls() != 2 {
		t.Errorf("%d messages carried out", u.countCalls())
	}
}

// A primary accepts no message signed before its start. A signature is valid for five minutes, with any fudge.
func TestUpdate_oldMessagesAreBADTIME(t *testing.T) {
	u := &recordedUpdates{answer: func(context.Context, *updates.Key) uint16 { return mdns.RcodeSuccess }}
	key := makeUpdater(t, "team", updates.TransferNone)
	p := startUpdated(t, u, key)
	restarted := startUpdated(t, u)
	restarted.tcp.updates = updates.NewQueue(u, time.Now, klog.Background())
	must.Succeed(t, restarted.SetUpdateKeys([]*updates.Key{key}))
	began := time.Now()
	for what, test := range map[string]struct {
		to     *Primary
		signed time.Duration // since the restart
		fudge  uint16
		good   bool
	}{
		"before the restart":                   {restarted, -2 * time.Second, 300, false},
		"as soon as the key is served":         {restarted, 0, 300, true},
		"before the restart, elsewhere":        {p, -time.Second, 300, true},
		"almost five minutes ago":              {p, -290 * time.Second, 65535, true},
		"more than five minutes ago":           {p, -310 * time.Second, 65535, false},
		"more than five minutes ahead":         {p, 330 * time.Second, 65535, false},
		"beyond the fudge that its signer has": {p, -40 * time.Second, 20, false},
	} {
		m := makeUpdate(strings.ReplaceAll(strings.ReplaceAll(what, " ", "-"), ",", "") + ".apps.example.org.")
		signed := began.Add(test.signed)
		m.SetTsig(key.Name, string(key.Algorithm), test.fudge, signed.Unix())
		wire, _, err := mdns.TsigGenerateWithProvider(m, macBy{key.Key}, "", false)
		must.Succeed(t, err)
		before := u.countCalls()
		answer := sendDatagram(t, test.to, wire)
		switch {
		case test.good && (answer.Rcode != mdns.RcodeSuccess || u.countCalls() != before+1),
			!test.good && (answer.Rcode != mdns.RcodeNotAuth || answer.IsTsig().Error != mdns.RcodeBadTime || u.countCalls() != before):
			t.Errorf("%s: carried out %d times, answered with %v", what, u.countCalls()-before, answer)
		case !test.good && answer.IsTsig().MACSize == 0:
			t.Errorf("%s: the refusal is not signed", what)
		}
	}
}
