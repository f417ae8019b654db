// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/test/must"
)

// tenants is a primary with one class of the platform and two of tenants. All have the same zone, larger than socket
// buffers.
type tenants struct {
	t *testing.T
	*Primary
	keys map[string]tsig.Key
}

func newTenants(t *testing.T, c Config) tenants {
	t.Helper()
	c.Zones, c.Allow, c.Views = serveZones(makeSnapshot(t, "org", "", "example.org.", 7, makeHosts(200000)...)), []Rule{}, []string{}
	p := tenants{t, startPrimary(t, c), map[string]tsig.Key{}}
	for _, tenant := range []string{"", "team", "other"} {
		key := testKey(t, tenant+"key.example.", tsig.HMACSHA256)
		rules := []Rule{{Key: key.Name}}
		if tenant == "team" { // also allowed by address, like a server without a key
			rules = append(rules, Rule{Prefixes: []netip.Prefix{netip.MustParsePrefix("127.0.7.0/24")}})
		}
		config := ClassConfig{Name: tenant + "/edge", Tenant: tenant, Keys: []tsig.Key{key}, Allow: rules}
		must.Get(p.AddClass(config, Membership{Members: []Member{{"org", name.MustParse("example.org.")}}, Serial: 1}))(t)
		p.keys[tenant] = key
	}
	return p
}

// sendQuery sends a query from the address source, signed with the key of tenant, or unsigned if tenant is "-".
func (p tenants) sendQuery(source, tenant string, qtype uint16) net.Conn {
	p.t.Helper()
	conn := dialTCPFrom(p.t, p.Primary, source)
	conn.(*net.TCPConn).SetReadBuffer(128 << 10)
	wire := packMessage(p.t, makeQuery("example.org.", qtype))
	if tenant != "-" {
		wire, _ = signQuery(p.t, makeQuery("example.org.", qtype), p.keys[tenant], time.Now())
	}
	sendMessage(p.t, conn, wire)
	return conn
}

// A tenant starts transfers from many addresses, signed and unsigned, and reads none of them. The tenant gets at most a
// quarter of the slots, so transfers for the platform and another tenant still start (S11.30).
func TestTenant_takesNoPlacesOfTransfers_S11_30(t *testing.T) {
	p := newTenants(t, Config{MaxTransfers: 4, MaxTransfersPerClient: 1, TransferWait: 3 * time.Second})
	var stuck []net.Conn
	for _, source := range []string{"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"} {
		stuck = append(stuck, p.sendQuery(source, "team", mdns.TypeAXFR))
	}
	for _, source := range []string{"127.0.7.2", "127.0.7.3"} {
		stuck = append(stuck, p.sendQuery(source, "-", mdns.TypeAXFR))
	}
	began := 0
	for _, conn := range stuck {
		if m := receiveMessage(t, conn); m.Rcode == mdns.RcodeSuccess {
			began++
		} else if m.Rcode != mdns.RcodeServerFailure {
			t.Errorf("a transfer of the tenant: %v", m)
		}
	}
	if began != 1 {
		t.Errorf("%d transfers of one tenant run at once, want a quarter of 4", began)
	}
	for _, tenant := range []string{"", "other"} {
		if m := receiveMessage(t, p.sendQuery("127.0.0.9", tenant, mdns.TypeAXFR)); m.Rcode != mdns.RcodeSuccess || len(m.Answer) == 0 {
			t.Errorf("a transfer of %q beside those of a tenant: %s", tenant, mdns.RcodeToString[m.Rcode])
		}
	}
}

// A tenant opens many connections, admitted by key or by address. The tenant keeps only its share of them, so the
// platform and another tenant still connect.
func TestTenant_takesNoPlacesOfConnections_S11_30(t *testing.T) {
	p := newTenants(t, Config{MaxConns: 8, MaxConnsPerClient: 2})
	var asked []net.Conn
	for range 2 {
		for _, source := range []string{"127.0.0.2", "127.0.0.3"} {
			asked = append(asked, p.sendQuery(source, "team", mdns.TypeSOA))
		}
		for _, source := range []string{"127.0.7.2", "127.0.7.3"} {
			asked = append(asked, p.sendQuery(source, "-", mdns.TypeSOA))
		}
	}
	kept := 0
	for _, conn := range asked {
		if _, err := io.ReadFull(conn, make([]byte, 2)); err == nil {
			kept++
		}
	}
	if kept != 2 {
		t.Errorf("%d connections of one tenant, want its share of 2", kept)
	}
	for _, tenant := range []string{"", "other"} {
		for range 2 {
			if m := receiveMessage(t, p.sendQuery("127.0.0.9", tenant, mdns.TypeSOA)); m.Rcode != mdns.RcodeSuccess {
				t.Errorf("a connection of %q beside those of a tenant: %v", tenant, m)
			}
		}
	}
}

// A client that reads each message within WriteTimeout, but would need far too long for the whole zone, is cut because
// the transfer is slower than LeastRate.
func TestTransfer_hasALeastRate_S11_30(t *testing.T) {
	p := newTenants(t, Config{WriteTimeout: time.Second, LeastRate: 1 << 30})
	conn := p.sendQuery("127.0.0.2", "team", mdns.TypeAXFR)
	count := func(result string) int64 { return p.Stats().Transfers[TransferKind{KindAXFR, result}] }
	for count(ResultCut) == 0 && count(ResultSent) == 0 {
		// At the rate of this reader, the whole zone takes longer than a second.
		if _, err := io.ReadFull(conn, make([]byte, 64<<10)); err != nil {
			break
		}
		time.Sleep(40 * time.Millisecond)
	}
	if count(ResultCut) != 1 {
		t.Errorf("a slow transfer: %v", p.Stats().Transfers)
	}
}

// A tenant may create thousands of classes. The primary finds classes by the key of a query, so a query is compared
// only with the classes that have its key.
func TestTenant_manyClassesCostNoQuestion_S11_30(t *testing.T) {
	p := must.Get(New(Config{Zones: serveZones(makeSnapshot(t, "org", "", "example.org.", 7)),
		Listen: netip.MustParseAddrPort("127.0.0.1:0")}))(t)
	t.Cleanup(func() { p.Close() })
	members := Membership{Members: []Member{{"org", name.MustParse("example.org.")}}, Serial: 1}
	var classes []*Class
	for i := range 1000 {
		key := testKey(t, fmt.Sprintf("key-%d.example.", i%999), tsig.HMACSHA256) // two classes share key 0
		class := must.Get(p.AddClass(ClassConfig{Name: fmt.Sprintf("team/c-%04d", i), Tenant: "team", Keys: []tsig.Key{key}, Allow: []Rule{{Key: key.Name}}}, members))(t)
		classes = append(classes, class)
	}
	registry := p.classes.registry.Load()
	for keyName, want := range map[string][]*Class{"key-0.example.": {classes[0], classes[999]}, "key-7.example.": {classes[7]}} {
		key := registry.keys[keyName]
		if may := registry.candidatesFor(key); !slices.Equal(may, want) {
			t.Errorf("%s: %d classes are asked about a question", keyName, len(may))
		}
		if open, _ := registry.classesFor(sentBy(outside, false), key, time.Now()); len(open) != len(want) {
			t.Errorf("%s: lets into %d classes, want %d", keyName, len(open), len(want))
		}
	}
	if is := registry.trustOf(outside); len(registry.byAddress) != 0 || is != unproven {
		t.Errorf("%d classes are asked about a connection; it is %v", len(registry.byAddress), is)
	}
	if n := p.Stats().Zones; n != 1 {
		t.Errorf("%d zones are served, want 1", n)
	}
	for _, class := range classes {
		class.Close()
	}
	if registry = p.classes.registry.Load(); len(registry.byKey) != 0 || registry.trustOf(outside) != outsider {
		t.Errorf("after their end %d keys stay", len(registry.byKey))
	}
}
