// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
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
	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/test/must"
)

func newAuthority(t testing.TB) *pki.Pair {
	t.Helper()
	return must.Get(pki.Issue(nil, pki.Authority("an authority"), time.Now().Add(-48*time.Hour), 96*time.Hour))(t)
}

// issuePair returns a certificate for server and client that ends in the future, or with a negative validity in the
// past.
func issuePair(t testing.TB, authority *pki.Pair, host string, validity time.Duration) *pki.Pair {
	t.Helper()
	template := pki.Serving(host, []string{host})
	template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	now := time.Now()
	if validity < 0 {
		now, validity = now.Add(2*validity), -validity
	}
	return must.Get(pki.Issue(authority, template, now, validity))(t)
}

func newTLS(t testing.TB, server, clients *pki.Pair, clientNames ...string) *ClassTLS {
	t.Helper()
	return must.Get(NewClassTLS(server.CertPEM, server.KeyPEM, clients.CertPEM, clientNames))(t)
}

func clientConfig(t testing.TB, serverName string, servers, client *pki.Pair) *tls.Config {
	t.Helper()
	config := &tls.Config{ServerName: serverName, RootCAs: x509.NewCertPool(), NextProtos: []string{"dot"}}
	config.RootCAs.AddCert(servers.Cert)
	if client != nil {
		config.Certificates = []tls.Certificate{must.Get(tls.X509KeyPair(client.CertPEM, client.KeyPEM))(t)}
	}
	return config
}

func askOn(conn net.Conn, question *mdns.Msg) (*mdns.Msg, error) {
	msg, err := question.Pack()
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(msg))), msg...)); err != nil {
		return nil, err
	}
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(conn, b); err != nil {
		return nil, err
	}
	answer := new(mdns.Msg)
	return answer, answer.Unpack(b)
}

func askTLS(p *Primary, config *tls.Config, question *mdns.Msg) (*mdns.Msg, error) {
	conn, err := tls.Dial("tcp", p.TLSAddr().String(), config)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return askOn(conn, question)
}

// tlsWorld is a primary with the class "tls" of the zone example.org., whose servers are on loopback.
type tlsWorld struct {
	*Primary
	config              ClassConfig
	class               *Class
	authority, clientCA *pki.Pair
}

const serverName = "primary.example.org"

func startTLS(t testing.TB, change func(*tlsWorld, *Config)) *tlsWorld {
	t.Helper()
	w := &tlsWorld{authority: newAuthority(t), clientCA: newAuthority(t)}
	w.config = ClassConfig{Name: "tls", Allow: []Rule{{}}, Notify: []Target{{Addr: netip.MustParseAddrPort("127.0.0.1:9")}}}
	w.config.TLS = newTLS(t, issuePair(t, w.authority, serverName, time.Hour), w.clientCA)
	config := Config{Zones: serveZones(makeSnapshot(t, "u", "", "example.org.", 7), makeSnapshot(t, "v", "", "other.example.", 8)),
		Listen: netip.MustParseAddrPort("127.0.0.1:0"), ListenTLS: netip.MustParseAddrPort("127.0.0.1:0"),
		NotifyFaultAfter: time.Nanosecond}
	if change != nil {
		change(w, &config)
	}
	w.Primary = must.Get(New(config))(t)
	runUntilCleanup(t, w.Primary)
	w.class = must.Get(w.AddClass(w.config, Membership{Serial: 1, Members: []Member{{"u", name.MustParse("example.org.")}}}))(t)
	return w
}

func (w *tlsWorld) readCause() string {
	fault := w.TLSFaults(w.class)[loopback]
	return fault.Cause
}

// Attack 140: a client without a certificate, with one of another authority, of another name or expired, without ALPN,
// with TLS 1.2, or of another name than the primary's gets nothing, and the cause is known. Each refused client is
// followed by one that is served, which ends the fault (S17.2).
func TestTLS_refusesOtherClients_S17_2(t *testing.T) {
	w := startTLS(t, func(w *tlsWorld, _ *Config) {
		w.config.TLS = newTLS(t, issuePair(t, w.authority, serverName, time.Hour), w.clientCA, "ns1.example.org", "ns2.example.org")
	})
	good := issuePair(t, w.clientCA, "ns1.example.org", time.Hour)
	soa := makeQuery("example.org.", mdns.TypeSOA)
	for _, test := range []struct {
		title, cause string
		config       func() *tls.Config
	}{
		{"no certificate", TLSNoCertificate, func() *tls.Config { return clientConfig(t, serverName, w.authority, nil) }},
		{"another authority", TLSUnknownAuthority, func() *tls.Config {
			return clientConfig(t, serverName, w.authority, issuePair(t, newAuthority(t), "ns1.example.org", time.Hour))
		}},
		{"another name", TLSWrongName, func() *tls.Config {
			return clientConfig(t, serverName, w.authority, issuePair(t, w.clientCA, "ns3.example.org", time.Hour))
		}},
		{"expired", TLSCertificateExpired, func() *tls.Config {
			return clientConfig(t, serverName, w.authority, issuePair(t, w.clientCA, "ns1.example.org", -time.Hour))
		}},
		{"a certificate for servers", TLSUnknownAuthority, func() *tls.Config {
			pair := must.Get(pki.Issue(w.clientCA, pki.Serving("ns1.example.org", []string{"ns1.example.org"}), time.Now(), time.Hour))(t)
			return clientConfig(t, serverName, w.authority, pair)
		}},
		{"no ALPN", TLSNoALPN, func() *tls.Config {
			config := clientConfig(t, serverName, w.authority, good)
			config.NextProtos = nil
			return config
		}},
		{"another ALPN", TLSNoALPN, func() *tls.Config {
			config := clientConfig(t, serverName, w.authority, good)
			config.NextProtos = []string{"h2"}
			return config
		}},
		{"TLS 1.2", TLSVersion, func() *tls.Config {
			config := clientConfig(t, serverName, w.authority, good)
			config.MaxVersion = tls.VersionTLS12
			return config
		}},
		{"it trusts another authority", TLSRefusedByPeer, func() *tls.Config { return clientConfig(t, serverName, w.clientCA, good) }},
		{"the name of no class", TLSWrongName, func() *tls.Config {
			config := clientConfig(t, "elsewhere.example.org", w.authority, good)
			config.InsecureSkipVerify = true
			return config
		}},
	} {
		t.Run(test.title, func(t *testing.T) {
			before := w.Stats().TLSHandshakes[test.cause]
			if answer, err := askTLS(w.Primary, test.config(), soa); err == nil {
				t.Fatalf("it is answered:\n%s", answer)
			}
			must.Eventually(t, "the cause is known", func() bool { return w.readCause() == test.cause })
			if n := w.Stats().TLSHandshakes[test.cause]; n != before+1 {
				t.Errorf("counted %d times", n-before)
			}
			answer, err := askTLS(w.Primary, clientConfig(t, serverName, w.authority, good), soa)
			if err != nil || answer.Rcode != mdns.RcodeSuccess || len(answer.Answer) != 1 {
				t.Fatalf("a server of the class: %v\n%v", err, answer)
			}
			if cause := w.readCause(); cause != "" {
				t.Errorf("a fault stays: %s", cause)
			}
		})
	}
}

// Attack 141: the zones of a class with TLS in clear, by UDP or TCP, with the key and from the address of a secondary,
// on both ports. The octets are those for a zone that does not exist (S17.1).
func TestTLS_servesNothingInClear_S17_1(t *testing.T) {
	key := testKey(t, "transfer.example.", tsig.HMACSHA256)
	w := startTLS(t, func(w *tlsWorld, _ *Config) {
		w.config.Keys, w.config.Allow = []tsig.Key{key}, []Rule{{Key: key.Name}, {Prefixes: local}}
		w.config.Catalog = name.MustParse("catalog.example.")
	})
	client := clientConfig(t, serverName, w.authority, issuePair(t, w.clientCA, "ns1.example.org", time.Hour))
	for _, fqdn := range []string{"example.org.", "catalog.example."} {
		for _, qtype := range []uint16{mdns.TypeSOA, mdns.TypeAXFR, mdns.TypeIXFR} {
			for _, at := range []netip.AddrPort{w.Addr(), w.TLSAddr()} {
				for _, network := range []string{"udp", "tcp"} {
					if network == "tcp" && at == w.TLSAddr() {
						continue // no TLS: nothing is answered, see below
					}
					for _, signed := range []bool{false, true} {
						t.Run(fmt.Sprintf("%s %s %s signed %t", fqdn, mdns.TypeToString[qtype], network, signed), func(t *testing.T) {
							rcodes := map[int]bool{}
							for _, zone := range []string{fqdn, "absent.example."} {
								question := makeQuery(zone, qtype)
								if qtype == mdns.TypeIXFR {
									question = makeIXFR(zone, 1)
								}
								dns := &mdns.Client{Net: network, TsigProvider: macBy{key}, Timeout: 10 * time.Second}
								if signed {
									question.SetTsig(key.Name, string(key.Algorithm), 300, time.Now().Unix())
								}
								answer, _, err := dns.Exchange(question, at.String())
								if err != nil {
									t.Fatal(err)
								}
								if len(answer.Answer)+len(answer.Ns) > 0 {
									t.Errorf("it has data:\n%s", answer)
								}
								rcodes[answer.Rcode] = true
							}
							if len(rcodes) != 1 || !rcodes[mdns.RcodeRefused] {
								t.Errorf("RCODEs %v", rcodes)
							}
						})
					}
				}
			}
		}
	}
	must.Eventually(t, "the cause is known", func() bool { return w.readCause() == TLSNotUsed })

	// The same peer over TLS has them, and other zones as little as before.
	for fqdn, rcode := range map[string]int{"example.org.": mdns.RcodeSuccess, "other.example.": mdns.RcodeRefused} {
		answer := must.Get(askTLS(w.Primary, client, makeQuery(fqdn, mdns.TypeSOA)))(t)
		if answer.Rcode != rcode {
			t.Errorf("%s over TLS: %s", fqdn, mdns.RcodeToString[answer.Rcode])
		}
	}

	// DNS in clear at the port for TLS.
	conn := must.Get(net.Dial("tcp", w.TLSAddr().String()))(t)
	defer conn.Close()
	if answer, err := askOn(conn, makeQuery("example.org.", mdns.TypeSOA)); err == nil {
		t.Errorf("clear text at the port for TLS is answered:\n%s", answer)
	}
	must.Eventually(t, "the cause is known", func() bool { return w.readCause() == TLSNotUsed })
}

// A class with a key requires certificate and key (S17.2).
func TestTLS_keyAndCertificate_S17_2(t *testing.T) {
	key := testKey(t, "transfer.example.", tsig.HMACSHA256)
	w := startTLS(t, func(w *tlsWorld, _ *Config) {
		w.config.Keys, w.config.Allow = []tsig.Key{key}, []Rule{{Key: key.Name}}
	})
	client := clientConfig(t, serverName, w.authority, issuePair(t, w.clientCA, "ns1.example.org", time.Hour))
	if answer := must.Get(askTLS(w.Primary, client, makeQuery("example.org.", mdns.TypeSOA)))(t); answer.Rcode != mdns.RcodeRefused {
		t.Errorf("without the key: %s", mdns.RcodeToString[answer.Rcode])
	}
}

// Attack 142: a long connection, or a resumed session, outlives the authority of its certificate. Neither does: the
// connection is refused from the next message on, and no session is resumed (S17.3).
func TestTLS_rotates_S17_3(t *testing.T) {
	w := startTLS(t, nil)
	former := clientConfig(t, serverName, w.authority, issuePair(t, w.clientCA, "ns1.example.org", time.Hour))
	former.ClientSessionCache = tls.NewLRUClientSessionCache(8)
	soa := makeQuery("example.org.", mdns.TypeSOA)
	conn := must.Get(tls.Dial("tcp", w.TLSAddr().String(), former))(t)
	defer conn.Close()
	if answer := must.Get(askOn(conn, soa))(t); answer.Rcode != mdns.RcodeSuccess {
		t.Fatal(answer)
	}

	// The certificate of the primary alone: the connection goes on, and a new one has the new certificate.
	renewed := issuePair(t, w.authority, serverName, time.Hour)
	w.config.TLS = newTLS(t, renewed, w.clientCA)
	must.Succeed(t, w.class.Update(w.config))
	if answer := must.Get(askOn(conn, soa))(t); answer.Rcode != mdns.RcodeSuccess {
		t.Errorf("after a new certificate: %s", mdns.RcodeToString[answer.Rcode])
	}
	second := must.Get(tls.Dial("tcp", w.TLSAddr().String(), former))(t)
	if state := second.ConnectionState(); state.DidResume || !state.PeerCertificates[0].Equal(renewed.Cert) {
		t.Errorf("resumed %t, or with the former certificate", state.DidResume)
	}
	second.Close()

	// Another authority.
	next := newAuthority(t)
	w.config.TLS = newTLS(t, renewed, next)
	must.Succeed(t, w.class.Update(w.config))
	if answer := must.Get(askOn(conn, soa))(t); answer.Rcode != mdns.RcodeRefused {
		t.Errorf("the former authority's client on its old connection: %s", mdns.RcodeToString[answer.Rcode])
	}
	if _, err := askTLS(w.Primary, former, soa); err == nil {
		t.Error("the former authority's client is served")
	}
	withNext := clientConfig(t, serverName, w.authority, issuePair(t, next, "ns1.example.org", time.Hour))
	if _, err := askTLS(w.Primary, withNext, soa); err != nil {
		t.Errorf("the new authority's client: %v", err)
	}
}

// A certificate that expires during a connection ends what the connection may ask.
func TestTLS_expiresDuringAConnection_S17_3(t *testing.T) {
	authority := newAuthority(t)
	pair := issuePair(t, authority, "ns1.example.org", time.Hour)
	of := newTLS(t, issuePair(t, authority, serverName, time.Hour), authority)
	peer := &tlsPeer{[]*x509.Certificate{pair.Cert}, map[*ClassTLS]verdict{}}
	for _, test := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {59 * time.Minute, true}, {61 * time.Minute, false}} {
		if err := peer.judgeFor(of, time.Now().Add(test.after)); (err == nil) != test.want {
			t.Errorf("after %s: %v", test.after, err)
		}
	}
}

// Attack 143: a secondary of one class sends questions by the thousand, so that the other classes verify its
// certificate for each. They verify it once a minute.
func TestTLS_refusalIsRemembered(t *testing.T) {
	pair, authority := issuePair(t, newAuthority(t), "ns1.example.org", time.Hour), newAuthority(t)
	of := newTLS(t, issuePair(t, authority, serverName, time.Hour), authority)
	peer, now := &tlsPeer{[]*x509.Certificate{pair.Cert}, map[*ClassTLS]verdict{}}, time.Now()
	first := peer.judgeFor(of, now)
	if first == nil {
		t.Fatal("the certificate of another authority is accepted")
	}
	for after, isSame := range map[time.Duration]bool{59 * time.Second: true, 61 * time.Second: false} {
		peer.verdicts[of] = verdict{first, now.Add(refusalKept)}
		if err := peer.judgeFor(of, now.Add(after)); err == nil || (err == first) != isSame {
			t.Errorf("after %s: %v, the first verdict %t", after, err, err == first)
		}
	}
}

// Attack 144: a client sends a chain of certificates that can be combined in many ways, each with a signature to
// verify.
func TestTLS_longChainIsNotVerified(t *testing.T) {
	authority := newAuthority(t)
	of := newTLS(t, issuePair(t, authority, serverName, time.Hour), authority)
	pair := issuePair(t, authority, "ns1.example.org", time.Hour)
	chain := []*x509.Certificate{pair.Cert, authority.Cert, authority.Cert, authority.Cert}
	if _, err := of.verifyClient(chain, time.Now()); err != nil {
		t.Fatal(err)
	}
	_, err := of.verifyClient(append(chain, authority.Cert), time.Now())
	must.Say(t, err, "more than 4 certificates")
}

// Attack 143: the certificate of one class's secondary opens no other class, neither by the name of the other class's
// certificate nor by the zone.
func TestTLS_classesAreApart(t *testing.T) {
	w := startTLS(t, nil)
	other := newAuthority(t)
	config := ClassConfig{Name: "zz", Allow: []Rule{{}}, TLS: newTLS(t, issuePair(t, w.authority, "other.example.org", time.Hour), other),
		Notify: []Target{{Addr: netip.MustParseAddrPort("127.0.0.7:9")}}}
	must.Get(w.AddClass(config, Membership{Serial: 1, Members: []Member{{"v", name.MustParse("other.example.")}}}))(t)
	ours, theirs := issuePair(t, w.clientCA, "ns1.example.org", time.Hour), issuePair(t, other, "ns1.example.org", time.Hour)
	zone := map[string]string{serverName: "example.org.", "other.example.org": "other.example."}
	for sni, fqdn := range zone {
		for _, pair := range []*pki.Pair{ours, theirs} {
			opens := (sni == serverName) == (pair == ours)
			client := clientConfig(t, sni, w.authority, pair)
			for _, asked := range zone {
				answer, err := askTLS(w.Primary, client, makeQuery(asked, mdns.TypeSOA))
				switch {
				case !opens && err == nil:
					t.Errorf("%s by a certificate of the other class: %s", sni, answer)
				case opens && (err != nil || (answer.Rcode == mdns.RcodeSuccess) != (asked == fqdn)):
					t.Errorf("%s at %s: %v\n%s", asked, sni, err, answer)
				}
			}
		}
	}

	// BIND 9.18 asks for no name. The address says which class's certificate it gets.
	for from, want := range map[string]string{"127.0.0.1": serverName, "127.0.0.7": "other.example.org", "127.0.0.9": serverName} {
		classes := w.classes.registry.Load().findTLS("", netip.MustParseAddr(from))
		if len(classes) == 0 || classes[0].of.Certificate.Leaf.DNSNames[0] != want {
			t.Errorf("%s gets another certificate", from)
		}
	}
}

// Attack 144: thousands of half-open and slow handshakes. They are bounded in number and time, and a secondary is
// served meanwhile.
func TestTLS_halfOpenHandshakesAreBounded(t *testing.T) {
	const most = 32
	w := startTLS(t, func(_ *tlsWorld, c *Config) { c.MaxConns, c.MaxConnsPerClient = most, most })
	hello := recordHello(t)
	var held []net.Conn
	defer func() {
		for _, conn := range held {
			conn.Close()
		}
	}()
	for i := range 1000 {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+i%200), 1)}}
		conn := must.Get(dialer.Dial("tcp", w.TLSAddr().String()))(t)
		held = append(held, conn)
		switch i % 3 {
		case 0: // nothing
		case 1:
			conn.Write(hello[:len(hello)/2])
		case 2: // the client never finishes
			conn.Write(hello)
		}
		if i%100 == 99 {
			client := clientConfig(t, serverName, w.authority, issuePair(t, w.clientCA, "ns1.example.org", time.Hour))
			began := time.Now()
			answer, err := askTLS(w.Primary, client, makeQuery("example.org.", mdns.TypeSOA))
			if err != nil || answer.Rcode != mdns.RcodeSuccess {
				t.Fatalf("after %d: %v", i+1, err)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("a secondary waited %s behind %d handshakes", took, i+1)
			}
		}
		if open := countConns(w.Primary); open > 2*most+8 {
			t.Fatalf("%d connections are open", open)
		}
	}
	// The last ones end by time.
	must.Eventually(t, "no handshake outlasts its time", func() bool { return countConns(w.Primary) == 0 })
}

func countConns(p *Primary) int {
	p.tcp.mu.Lock()
	defer p.tcp.mu.Unlock()
	return len(p.tcp.conns)
}

// Attack 144: complete handshakes without end, from addresses that no class lists. Beyond the limit they end before the
// primary signs, and a listed secondary is served.
func TestTLS_handshakesOfStrangersAreBounded(t *testing.T) {
	w := startTLS(t, nil)
	w.tcp.strangers.SetBurst(2)
	w.tcp.strangers.SetLimit(0)
	good := clientConfig(t, serverName, w.authority, issuePair(t, w.clientCA, "ns1.example.org", time.Hour))
	soa := makeQuery("example.org.", mdns.TypeSOA)
	dialer := &tls.Dialer{NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}, Config: good}
	for i := range 4 {
		conn, err := dialer.Dial("tcp", w.TLSAddr().String())
		if (err == nil) != (i < 2) {
			t.Errorf("handshake %d: %v", i, err)
		}
		if err == nil {
			conn.Close()
		}
		if answer, err := askTLS(w.Primary, good, soa); err != nil || answer.Rcode != mdns.RcodeSuccess {
			t.Fatalf("a listed secondary: %v", err)
		}
	}
}

// recordHello returns the first message of a client.
func recordHello(t *testing.T) []byte {
	t.Helper()
	client, server := net.Pipe()
	defer client.Close()
	go tls.Client(client, &tls.Config{ServerName: serverName, NextProtos: []string{"dot"}}).Handshake()
	b := make([]byte, 4096)
	n := must.Get(server.Read(b))(t)
	return slices.Clone(b[:n])
}

// A primary without a port for TLS refuses the class, rather than to serve it in clear.
func TestTLS_needsAPort(t *testing.T) {
	authority := newAuthority(t)
	p := startPrimary(t, Config{Zones: serveZones()})
	of := newTLS(t, issuePair(t, authority, serverName, time.Hour), authority)
	_, err := p.AddClass(ClassConfig{Name: "tls", Allow: []Rule{{}}, TLS: of},
		Membership{Serial: 1})
	must.Say(t, err, "--dns-tls-listen")
	if _, err := NewClassTLS(authority.CertPEM, newAuthority(t).KeyPEM, authority.CertPEM, nil); err == nil {
		t.Error("a key of another certificate")
	}
	if _, err := NewClassTLS(authority.CertPEM, authority.KeyPEM, []byte("none"), nil); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("no authority: %v", err)
	}
}
