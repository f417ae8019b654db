// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfers

import (
	"context"
	"crypto/x509"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/test/interop/subject"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

const primaryName = "primary.example.org"

// issuePair returns a certificate for both ends of a connection.
func issuePair(t *testing.T, authority *pki.Pair, name string, validity time.Duration) *pki.Pair {
	t.Helper()
	template := pki.Serving(name, []string{name})
	template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	now := time.Now()
	if validity < 0 {
		now = now.Add(2 * validity)
		validity = -validity
	}
	return must.Get(pki.Issue(authority, template, now, validity))(t)
}

func newAuthority(t *testing.T) *pki.Pair {
	t.Helper()
	return must.Get(pki.Issue(nil, pki.Authority("an authority"), time.Now().Add(-24*time.Hour), 48*time.Hour))(t)
}

func classTLS(t *testing.T, server, clients *pki.Pair) *primary.ClassTLS {
	t.Helper()
	return must.Get(primary.NewClassTLS(server.CertPEM, server.KeyPEM, clients.CertPEM, nil))(t)
}

func writeClient(t *testing.T, server, client *pki.Pair) *rig.TLSClient {
	t.Helper()
	dir := t.TempDir()
	must.Succeed(t, os.Chmod(dir, 0o755))
	of := &rig.TLSClient{ServerName: primaryName, Authority: filepath.Join(dir, "ca.crt"), Certificate: filepath.Join(dir, "tls.crt"),
		PrivateKey: filepath.Join(dir, "tls.key")}
	must.Succeed(t, os.WriteFile(of.Authority, server.CertPEM, 0o644))
	writePair(t, of, client)
	return of
}

func writePair(t *testing.T, of *rig.TLSClient, client *pki.Pair) {
	t.Helper()
	must.Succeed(t, os.WriteFile(of.Certificate, client.CertPEM, 0o644))
	must.Succeed(t, os.WriteFile(of.PrivateKey, client.KeyPEM, 0o644))
}

type tlsServer struct {
	name  string
	start func(ctx context.Context, zone rig.SecondaryZone) consumer
}

func tlsServers(t *testing.T) []tlsServer {
	keys := []rig.TSIGKey{key}
	return []tlsServer{{"BIND", func(ctx context.Context, zone rig.SecondaryZone) consumer {
		b := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{Keys: keys, Secondaries: []rig.SecondaryZone{zone}}))(t)
		return consumer{"BIND", b.Addr.String(), b.Log}
	}}, {"NSD", func(ctx context.Context, zone rig.SecondaryZone) consumer {
		n := rig.NeedServer(rig.StartNSD(ctx, rig.NSDConfig{Keys: keys, Secondaries: []rig.SecondaryZone{zone}}))(t)
		return consumer{"NSD", n.Addr.String(), n.Log}
	}}}
}

// BIND and NSD transfer by TLS with and without TSIG, follow a change, and go on after certificate and authority have
// been replaced.
func TestTLS_serversFollow(t *testing.T) {
	for _, keyName := range []string{"", key.Name} {
		for _, server := range tlsServers(t) {
			t.Run(server.name+" "+keyName, func(t *testing.T) {
				ctx := rig.Within(t, time.Minute)
				authority := newAuthority(t)
				zone := makeMemberZone(t, "uid-1", apex, 1)
				serving := subject.StartClasses(t, primary.Config{ListenTLS: subject.FreeAddress}, zone)
				config := primary.ClassConfig{Name: "tls", Allow: []primary.Rule{{}},
					TLS: classTLS(t, issuePair(t, authority, primaryName, time.Hour), authority)}
				if keyName != "" {
					config.Keys = subject.Keys(t, key.Statement())
					config.Allow = []primary.Rule{{Key: keyName}}
				}
				class := must.Get(serving.Primary.AddClass(config, makeMembership(1, zone)))(t)
				at := server.start(ctx, rig.SecondaryZone{Zone: apex, Primary: serving.Primary.TLSAddr(), Key: keyName,
					TLS: writeClient(t, authority, issuePair(t, authority, "ns1.example.org", time.Hour))})
				// NSD 4.6 shows its certificate from its second connection on, which NOTIFY causes.
				config.Notify = []primary.Target{{Addr: at.parseAddress(), Key: keyName}}
				must.Succeed(t, class.Update(config))
				at.expectSerial(t, ctx, apex, 1)

				config.TLS = classTLS(t, issuePair(t, authority, primaryName, time.Hour), authority)
				must.Succeed(t, class.Update(config))
				serving.Put(makeMemberZone(t, "uid-1", apex, 2), true)
				at.expectSerial(t, ctx, apex, 2)
			})
		}
	}
}

// A server with a certificate of another authority, or an expired one, or that trusts the primary's authority or name
// not, transfers nothing, and the primary knows why (S17.4).
func TestTLS_causesAreKnown_S17_4(t *testing.T) {
	for title, test := range map[string]struct {
		change func(t *testing.T, client *rig.TLSClient, clients *pki.Pair)
		want   string
	}{
		"another authority": {func(t *testing.T, client *rig.TLSClient, _ *pki.Pair) {
			writePair(t, client, issuePair(t, newAuthority(t), "ns1.example.org", time.Hour))
		}, primary.TLSUnknownAuthority},
		"expired": {func(t *testing.T, client *rig.TLSClient, clients *pki.Pair) {
			writePair(t, client, issuePair(t, clients, "ns1.example.org", -time.Hour))
		}, primary.TLSCertificateExpired},
		"trusts another authority": {func(t *testing.T, client *rig.TLSClient, clients *pki.Pair) {
			must.Succeed(t, os.WriteFile(client.Authority, clients.CertPEM, 0o644))
		}, primary.TLSRefusedByPeer},
		"trusts another name": {func(_ *testing.T, client *rig.TLSClient, _ *pki.Pair) {
			client.ServerName = "elsewhere.example.org"
		}, primary.TLSRefusedByPeer},
	} {
		for _, server := range tlsServers(t) {
			t.Run(server.name+" "+title, func(t *testing.T) {
				ctx := rig.Within(t, time.Minute)
				authority, clients := newAuthority(t), newAuthority(t)
				zone := makeMemberZone(t, "uid-1", apex, 1)
				serving := subject.StartClasses(t, primary.Config{ListenTLS: subject.FreeAddress, NotifyFaultAfter: time.Nanosecond}, zone)
				config := primary.ClassConfig{Name: "tls", Allow: []primary.Rule{{}},
					TLS: classTLS(t, issuePair(t, authority, primaryName, time.Hour), clients)}
				client := writeClient(t, authority, issuePair(t, clients, "ns1.example.org", time.Hour))
				test.change(t, client, clients)
				config.Notify = []primary.Target{{Addr: netip.MustParseAddrPort("127.0.0.1:9")}}
				class := must.Get(serving.Primary.AddClass(config, makeMembership(1, zone)))(t)
				at := server.start(ctx, rig.SecondaryZone{Zone: apex, Primary: serving.Primary.TLSAddr(), TLS: client})
				// NSD 4.6 shows its certificate from its second connection on, which NOTIFY causes.
				config.Notify = []primary.Target{{Addr: at.parseAddress()}}
				must.Succeed(t, class.Update(config))
				must.Eventually(t, "the primary knows the cause", func() bool {
					return serving.Primary.TLSFaults(class)[at.parseAddress().Addr()].Cause == test.want
				})
			})
		}
	}
}
