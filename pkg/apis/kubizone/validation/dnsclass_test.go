// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/test/must"
)

func newClass(change func(*v1alpha1.DNSClassSpec)) *v1alpha1.DNSClass {
	class := &v1alpha1.DNSClass{
		ObjectMeta: metav1.ObjectMeta{Name: "public"},
		Spec:       v1alpha1.DNSClassSpec{Namespaces: &v1alpha1.NamespaceSelection{Names: []string{"team-a"}}},
	}
	if change != nil {
		change(&class.Spec)
	}
	install.SetObjectDefaults_DNSClass(class)
	return class
}

func makeKeyReference(name string) *v1alpha1.SecretReference {
	return &v1alpha1.SecretReference{Name: name, Namespace: "dns-system"}
}

func hmacKey() *v1alpha1.SecretKeyReference {
	return &v1alpha1.SecretKeyReference{Name: "hook", Namespace: "dns-system", Key: "hmac-secret"}
}

func withTransfer(change func(*v1alpha1.TransferProvider)) func(*v1alpha1.DNSClassSpec) {
	return func(s *v1alpha1.DNSClassSpec) {
		s.Transfer = &v1alpha1.TransferProvider{Secondaries: []v1alpha1.Secondary{{Address: "192.0.2.1"}},
			TSIGSecretRef: makeKeyReference("key"), CatalogZone: "catalog.example.org."}
		if change != nil {
			change(s.Transfer)
		}
	}
}

func withUpdate(change func(*v1alpha1.RFC2136Provider)) func(*v1alpha1.DNSClassSpec) {
	return func(s *v1alpha1.DNSClassSpec) {
		s.RFC2136 = &v1alpha1.RFC2136Provider{Server: "ns1.example.net", TSIGSecretRef: *makeKeyReference("key")}
		if change != nil {
			change(s.RFC2136)
		}
	}
}

func withWebhook(change func(*v1alpha1.WebhookProvider)) func(*v1alpha1.DNSClassSpec) {
	return func(s *v1alpha1.DNSClassSpec) {
		s.Webhook = &v1alpha1.WebhookProvider{Server: "https://hook.example.net:7100/v1", HMACAuth: &v1alpha1.HMACAuth{SecretRef: hmacKey()}}
		if change != nil {
			change(s.Webhook)
		}
	}
}

func makeCertificate(t testing.TB) []byte {
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestDNSClass_oneObject(t *testing.T) {
	type spec = *v1alpha1.DNSClassSpec
	ca := makeCertificate(t)
	key := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: []byte{1}})
	server := func(url string) func(spec) {
		return withWebhook(func(w *v1alpha1.WebhookProvider) { w.Server = url })
	}
	update := func(host string) func(spec) {
		return withUpdate(func(u *v1alpha1.RFC2136Provider) { u.Server = host })
	}
	secondary := func(addresses ...string) func(spec) {
		return withTransfer(func(p *v1alpha1.TransferProvider) {
			p.Secondaries = nil
			for _, address := range addresses {
				p.Secondaries = append(p.Secondaries, v1alpha1.Secondary{Address: address})
			}
		})
	}
	signed := func(change func([]v1alpha1.Secondary)) func(spec) {
		return withTransfer(func(p *v1alpha1.TransferProvider) {
			p.Secondaries = []v1alpha1.Secondary{{Address: "192.0.2.1", Signs: true}, {Address: "192.0.2.2", Signer: "192.0.2.1"}}
			change(p.Secondaries)
		})
	}
	catalog := func(name string) func(spec) {
		return withTransfer(func(p *v1alpha1.TransferProvider) { p.CatalogZone = name })
	}
	hmac := func(auth v1alpha1.HMACAuth) func(spec) {
		return withWebhook(func(w *v1alpha1.WebhookProvider) { w.HMACAuth = &auth })
	}
	const (
		address = "spec.transfer.secondaries[0].address"
		url     = "spec.webhook.server"
		host    = "spec.rfc2136.server"
	)
	for _, test := range []struct {
		name   string
		change func(spec)
		want   string
	}{
		{"no provider", nil, required + "spec"},
		{"two providers", func(s spec) { withTransfer(nil)(s); withWebhook(nil)(s) }, forbidden + "spec.webhook"},
		{"three providers", func(s spec) { withTransfer(nil)(s); withUpdate(nil)(s); withWebhook(nil)(s) }, forbidden + "spec.rfc2136, " + forbidden + "spec.webhook"},
		{"ttl 0", func(s spec) { withUpdate(nil)(s); s.DefaultTTL = ptr.To[int32](0) }, ""},
		{"ttl below 0", func(s spec) { withUpdate(nil)(s); s.DefaultTTL = ptr.To[int32](-1) }, invalid + "spec.defaultTTL"},
		{"name servers", func(s spec) {
			withUpdate(nil)(s)
			s.NameServers = []v1alpha1.NameServer{{Name: "ns1.example.net."}, {Name: "ns2", Addresses: []string{"192.0.2.53"}}}
		}, ""},
		{"name servers without names, with addresses of one zone, and twice", func(s spec) {
			withUpdate(nil)(s)
			s.NameServers = []v1alpha1.NameServer{{}, {Name: "ns1.example.net.", Addresses: []string{"192.0.2.53"}}, {Name: "NS1.example.net."}, {Name: "ns2", Addresses: []string{"192.0.2"}}}
		}, required + "spec.nameServers[0].name, " + duplicate + "spec.nameServers[2].name, " + invalid + "spec.nameServers[3].addresses[0], " + forbidden + "spec.nameServers[1].addresses"},
		{"S1.2 name servers are spelled as in a zone", func(s spec) {
			withUpdate(nil)(s)
			s.NameServers = []v1alpha1.NameServer{{Name: "NS1.Example.net."}, {Name: "ns２。example。net。"}, {Name: `ns\051`}, {Name: "ns_4"}}
		}, invalid + "spec.nameServers[1].name, " + invalid + "spec.nameServers[2].name, " + invalid + "spec.nameServers[3].name"},
		{"rate 1", func(s spec) { withUpdate(nil)(s); s.RequestsPerSecond = ptr.To[int32](1) }, ""},
		{"drift interval 1m", func(s spec) { withUpdate(nil)(s); s.DriftInterval = &metav1.Duration{Duration: time.Minute} }, ""},
		{"drift interval 168h", func(s spec) { withUpdate(nil)(s); s.DriftInterval = &metav1.Duration{Duration: 168 * time.Hour} }, ""},
		{"drift interval below 1m", func(s spec) { withUpdate(nil)(s); s.DriftInterval = &metav1.Duration{Duration: 59 * time.Second} }, invalid + "spec.driftInterval"},
		{"drift interval beyond 7 days", func(s spec) { withUpdate(nil)(s); s.DriftInterval = &metav1.Duration{Duration: 169 * time.Hour} }, invalid + "spec.driftInterval"},
		{"drift interval of half a second", func(s spec) {
			withUpdate(nil)(s)
			s.DriftInterval = &metav1.Duration{Duration: time.Minute + time.Second/2}
		}, invalid + "spec.driftInterval"},
		{"rate 0", func(s spec) { withUpdate(nil)(s); s.RequestsPerSecond = ptr.To[int32](0) }, invalid + "spec.requestsPerSecond"},
		{"rate 10001", func(s spec) { withUpdate(nil)(s); s.RequestsPerSecond = ptr.To[int32](10001) }, invalid + "spec.requestsPerSecond"},

		{"namespaces", func(s spec) {
			withUpdate(nil)(s)
			s.Namespaces = &v1alpha1.NamespaceSelection{Names: []string{"a", "A", "a"}, Selector: &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "x", Operator: "Is"}},
			}}
		}, invalid + "spec.namespaces.names[1], " + duplicate + "spec.namespaces.names[2], " + invalid + "spec.namespaces.selector.matchExpressions[0].operator"},
		{"too many namespaces", func(s spec) { withUpdate(nil)(s); s.Namespaces.Names = make([]string, MaxClassNamespaces+1) }, tooMany + "spec.namespaces.names"},

		{"S1.9 views", func(s spec) { withUpdate(nil)(s); s.Views = []string{"", "inside", "*"} }, ""},
		{"S1.9 views that are none", func(s spec) { withUpdate(nil)(s); s.Views = []string{"In side", "", "", "d*"} }, invalid + "spec.views[0], " + duplicate + "spec.views[2], " + invalid + "spec.views[3]"},
		{"S1.9 too many views", func(s spec) { withUpdate(nil)(s); s.Views = make([]string, MaxClassViews+1) }, tooMany + "spec.views"},

		{"secondary with port", secondary("192.0.2.1:5353", "[2001:db8::1]:53", "2001:db8::2"), ""},
		{"secondary without address", secondary(""), required + address},
		{"secondary by name", secondary("ns1.example.org"), invalid + address},
		{"secondary with port 0", secondary("192.0.2.1:0"), invalid + address},
		{"secondary with scope", secondary("fe80::1%eth0"), invalid + address},
		{"attack 51: IPv4 in IPv6", secondary("::ffff:169.254.169.254"), invalid + address},
		{"attack 51: a number", secondary("2852039166"), invalid + address},
		{"secondary is any address", secondary("0.0.0.0"), invalid + address},
		{"secondary is many", secondary("224.0.0.1"), invalid + address},
		{"one secondary twice", secondary("192.0.2.1", "192.0.2.1:53"), duplicate + "spec.transfer.secondaries[1].address"},
		{"too many secondaries", withTransfer(func(p *v1alpha1.TransferProvider) { p.Secondaries = make([]v1alpha1.Secondary, MaxServers+1) }), tooMany + "spec.transfer.secondaries"},
		{"alsoNotify", withTransfer(func(p *v1alpha1.TransferProvider) { p.AlsoNotify = []string{"192.0.2.9", "x", "192.0.2.9:53"} }),
			invalid + "spec.transfer.alsoNotify[1], " + duplicate + "spec.transfer.alsoNotify[2]"},
		{"keys", withTransfer(func(p *v1alpha1.TransferProvider) {
			p.TSIGSecretRef, p.Secondaries[0].TSIGSecretRef = &v1alpha1.SecretReference{Name: "key"}, &v1alpha1.SecretReference{Name: "a/b", Namespace: "dns"}
		}), invalid + "spec.transfer.secondaries[0].tsigSecretRef.name, " + required + "spec.transfer.tsigSecretRef.namespace"},
		{"attack 49: ns/name", withTransfer(func(p *v1alpha1.TransferProvider) {
			p.TSIGSecretRef = &v1alpha1.SecretReference{Name: "kube-system/token", Namespace: "../kube-system"}
		}), invalid + "spec.transfer.tsigSecretRef.name, " + invalid + "spec.transfer.tsigSecretRef.namespace"},
		{"transferred by no server", func(s spec) { s.Transfer = &v1alpha1.TransferProvider{} }, required + "spec.transfer.secondaries"},
		{"NOTIFY to a server that may not transfer", withTransfer(func(p *v1alpha1.TransferProvider) {
			p.Secondaries, p.TSIGSecretRef, p.AlsoNotify = nil, nil, []string{"192.0.2.9"}
		}), required + "spec.transfer.secondaries"},
		{"transferred by any holder of the key", withTransfer(func(p *v1alpha1.TransferProvider) { p.Secondaries = nil }), ""},
		{"no catalog", catalog(""), ""},
		{"relative catalog", catalog("catalog.example.org"), invalid + "spec.transfer.catalogZone"},
		{"root catalog", catalog("."), invalid + "spec.transfer.catalogZone"},
		{"wildcard catalog", catalog("*.example.org."), invalid + "spec.transfer.catalogZone"},

		{"update to a host with a port", update("NS1.Example.net.:5353"), ""},
		{"update to an IPv6 address", update("2001:db8::1"), ""},
		{"update to an IPv6 address with a port", update("[2001:db8::1]:53"), ""},
		{"update to no server", update(""), required + host},
		{"update to port 0", update("ns1:0"), invalid + host},
		{"update to an open bracket", update("[2001:db8::1:53"), invalid + host},
		{"update to a host in brackets", update("[ns1]:53"), invalid + host},
		{"update to an IPv6 address and a port", update("2001:db8::1:99999"), invalid + host},
		{"update to no host name", update("ns_1.example.net"), invalid + host},
		{"foreign records deleted", withUpdate(func(u *v1alpha1.RFC2136Provider) { u.ForeignRecords = "Delete" }), unsupported + "spec.rfc2136.foreignRecords"},
		{"attack 51: unix socket", update("/var/run/docker.sock"), invalid + host},
		{"attack 51: decimal address", update("2852039166"), invalid + host},
		{"attack 51: octal address", update("0251.0376.0251.0376:53"), invalid + host},
		{"attack 51: hexadecimal address", update("0xa9fea9fe"), invalid + host},
		{"attack 51: scope", update("fe80::1%eth0"), invalid + host},
		{"update everything at once", func(s spec) { s.RFC2136 = &v1alpha1.RFC2136Provider{TransferServer: "[x"} },
			required + host + ", " + invalid + "spec.rfc2136.transferServer, " + required + "spec.rfc2136.tsigSecretRef.name, " + required + "spec.rfc2136.tsigSecretRef.namespace"},

		{"http", server("http://cloudflare-dns.dns.svc:7100"), ""},
		{"no URL", server(""), required + url},
		{"control character", server("https://hook\x7f/"), invalid + url},
		{"no host", server("https:///v1"), invalid + url},
		{"attack 51: file", server("file:///etc/passwd"), invalid + url},
		{"attack 51: unix", server("unix:/var/run/x"), invalid + url},
		{"attack 51: decimal", server("http://2852039166/"), invalid + url},
		{"attack 51: hexadecimal", server("http://0xa9.0xfe.0xa9.0xfe/"), invalid + url},
		{"user", server("https://me:secret@hook.example.net"), invalid + url},
		{"query", server("https://hook.example.net/?a=b"), invalid + url},
		{"fragment", server("https://hook.example.net/#"), invalid + url},
		{"port 0", server("https://hook.example.net:0"), invalid + url},
		{"port 65536", server("https://hook.example.net:65536"), invalid + url},
		{"IPv6", server("https://[2001:db8::1]:8443/v1"), ""},
		{"too long", server("https://hook.example.net/" + strings.Repeat("a", maxURL)), tooLong + url},
		{"timeout 0", withWebhook(func(w *v1alpha1.WebhookProvider) { w.TimeoutSeconds = ptr.To[int32](0) }), invalid + "spec.webhook.timeoutSeconds"},
		{"timeout 30", withWebhook(func(w *v1alpha1.WebhookProvider) { w.TimeoutSeconds = ptr.To[int32](30) }), ""},
		{"timeout 31", withWebhook(func(w *v1alpha1.WebhookProvider) { w.TimeoutSeconds = ptr.To[int32](31) }), invalid + "spec.webhook.timeoutSeconds"},

		{"apex NS deleted", withWebhook(func(w *v1alpha1.WebhookProvider) { w.ApexNS = "Delete" }), unsupported + "spec.webhook.apexNS"},
		{"a secondary with half of the catalog", withTransfer(func(p *v1alpha1.TransferProvider) { p.Secondaries[0].Catalog = "Half" }), unsupported + "spec.transfer.secondaries[0].catalog"},
		{"a signer, and one behind it", signed(func(all []v1alpha1.Secondary) {}), ""},
		{"a signer behind a signer", signed(func(all []v1alpha1.Secondary) { all[1].Signs = true }), invalid + "spec.transfer.secondaries[1].signer"},
		{"behind a server that does not sign", signed(func(all []v1alpha1.Secondary) { all[0].Signs = false }), invalid + "spec.transfer.secondaries[1].signer"},
		{"behind a server that is not listed", signed(func(all []v1alpha1.Secondary) { all[1].Signer = "192.0.2.1:53" }), invalid + "spec.transfer.secondaries[1].signer"},

		{"no secret", hmac(v1alpha1.HMACAuth{}), required + "spec.webhook.hmacAuth.secretRef"},
		{"two secrets", hmac(v1alpha1.HMACAuth{SecretRef: hmacKey(), Secret: "x"}), forbidden + "spec.webhook.hmacAuth.secret"},
		{"secret without anything", hmac(v1alpha1.HMACAuth{SecretRef: &v1alpha1.SecretKeyReference{}}),
			required + "spec.webhook.hmacAuth.secretRef.name, " + required + "spec.webhook.hmacAuth.secretRef.namespace, " + required + "spec.webhook.hmacAuth.secretRef.key"},
		{"key that is none", hmac(v1alpha1.HMACAuth{SecretRef: &v1alpha1.SecretKeyReference{Name: "a", Namespace: "b", Key: "b/c"}}), invalid + "spec.webhook.hmacAuth.secretRef.key"},
		{"SHA512", hmac(v1alpha1.HMACAuth{SecretRef: hmacKey(), Algorithm: "SHA512"}), ""},
		{"algorithm", hmac(v1alpha1.HMACAuth{SecretRef: hmacKey(), Algorithm: "sha256"}), unsupported + "spec.webhook.hmacAuth.algorithm"},

		{"CA", withWebhook(func(w *v1alpha1.WebhookProvider) {
			w.TLS = &v1alpha1.WebhookTLS{CABundle: append(append([]byte("# ours\n"), ca...), ca...),
				ClientSecretRef: makeKeyReference("client")}
		}), ""},
		{"CA that is text", withWebhook(func(w *v1alpha1.WebhookProvider) { w.TLS = &v1alpha1.WebhookTLS{CABundle: []byte("x")} }), invalid + "spec.webhook.tls.caBundle"},
		{"CA that is a key", withWebhook(func(w *v1alpha1.WebhookProvider) { w.TLS = &v1alpha1.WebhookTLS{CABundle: key} }), invalid + "spec.webhook.tls.caBundle"},
		{"CA that is cut off", withWebhook(func(w *v1alpha1.WebhookProvider) {
			w.TLS = &v1alpha1.WebhookTLS{CABundle: append(append([]byte{}, ca...), ca[:len(ca)/2]...)}
		}), invalid + "spec.webhook.tls.caBundle"},
		{"CA that is no certificate", withWebhook(func(w *v1alpha1.WebhookProvider) {
			w.TLS = &v1alpha1.WebhookTLS{CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte{1}})}
		}), invalid + "spec.webhook.tls.caBundle"},
		{"CA without end", withWebhook(func(w *v1alpha1.WebhookProvider) { w.TLS = &v1alpha1.WebhookTLS{CABundle: make([]byte, maxCABundle+1)} }), invalid + "spec.webhook.tls.caBundle"},
		{"client without namespace", withWebhook(func(w *v1alpha1.WebhookProvider) {
			w.TLS = &v1alpha1.WebhookTLS{ClientSecretRef: &v1alpha1.SecretReference{Name: "client"}}
		}), required + "spec.webhook.tls.clientSecretRef.namespace"},
		{"tls over http", withWebhook(func(w *v1alpha1.WebhookProvider) {
			w.Server, w.TLS = "http://hook.example.net", &v1alpha1.WebhookTLS{ClientSecretRef: makeKeyReference("client")}
		}), forbidden + "spec.webhook.tls"},
		{"token", withWebhook(func(w *v1alpha1.WebhookProvider) { w.BearerTokenFrom = hmacKey() }), ""},
		{"attack 53: token over http", withWebhook(func(w *v1alpha1.WebhookProvider) {
			w.Server, w.BearerTokenFrom = "http://hook.example.net", hmacKey()
		}), forbidden + "spec.webhook.bearerTokenFrom"},
		{"HTTPS in capitals", withWebhook(func(w *v1alpha1.WebhookProvider) {
			w.Server, w.BearerTokenFrom = "HTTPS://hook.example.net", hmacKey()
		}), ""},
		{"everything at once", func(s spec) {
			s.DefaultTTL, s.RequestsPerSecond = ptr.To[int32](-1), ptr.To[int32](-1)
			s.Webhook = &v1alpha1.WebhookProvider{Server: "ftp://x", TimeoutSeconds: ptr.To[int32](-1), HMACAuth: &v1alpha1.HMACAuth{Algorithm: "MD5"}, BearerTokenFrom: hmacKey()}
		}, invalid + "spec.defaultTTL, " + invalid + "spec.requestsPerSecond, " + invalid + url + ", " + invalid + "spec.webhook.timeoutSeconds, " +
			required + "spec.webhook.hmacAuth.secretRef, " + unsupported + "spec.webhook.hmacAuth.algorithm, " + forbidden + "spec.webhook.bearerTokenFrom"},
	} {
		t.Run(test.name, func(t *testing.T) { wantErrors(t, DNSClass(newClass(test.change), false), test.want) })
	}
}

func TestDNSClass_metadata(t *testing.T) {
	for text, want := range map[string]string{
		"true": "", "false": "", "True": unsupported + "metadata.annotations[kubi.zone/is-default-class]", "": unsupported + "metadata.annotations[kubi.zone/is-default-class]",
	} {
		class := newClass(withUpdate(nil))
		class.Annotations = map[string]string{v1alpha1.AnnotationDefaultClass: text}
		wantErrors(t, DNSClass(class, false), want)
	}
	class := newClass(withUpdate(nil))
	class.Name, class.Namespace = "Public", "dns"
	wantErrors(t, DNSClass(class, false), invalid+"metadata.name, "+forbidden+"metadata.namespace")
}

// New inline secrets need a server flag; stored secrets stay.
func TestDNSClass_inlineSecrets(t *testing.T) {
	class := newClass(withWebhook(func(w *v1alpha1.WebhookProvider) { w.HMACAuth = &v1alpha1.HMACAuth{Secret: "hunter2"} }))
	class.ResourceVersion = "1"
	wantErrors(t, DNSClass(class, true), "")
	refused := DNSClass(class, false)
	wantErrors(t, refused, forbidden+"spec.webhook.hmacAuth.secret")
	if text := refused.ToAggregate().Error(); strings.Contains(text, "hunter2") || !strings.Contains(text, "--allow-inline-secrets") {
		t.Errorf("the refusal: %s", text)
	}
	labelled := class.DeepCopy()
	labelled.Labels = map[string]string{"a": "b"}
	wantErrors(t, DNSClassUpdate(labelled, class, false), "")
	sound := newClass(withWebhook(nil))
	sound.ResourceVersion = "1"
	wantErrors(t, DNSClassUpdate(class, sound, false), forbidden+"spec.webhook.hmacAuth.secret")
}

func TestDNSClass_refusalsShowNoSecret(t *testing.T) {
	for _, url := range []string{"https://me:hunter2@hook.example.net", "https://me:hunter2@hook\x7f/", "ftp://me:hunter2@hook", "https://me:hunter2@hook.example.net:0/?x"} {
		class := newClass(withWebhook(func(w *v1alpha1.WebhookProvider) { w.Server = url }))
		if text := DNSClass(class, false).ToAggregate().Error(); strings.Contains(text, "hunter2") {
			t.Errorf("%q: %s", url, text)
		}
	}
}

func TestDNSClassUpdate_answersForWhatItChanges(t *testing.T) {
	broken := newClass(withUpdate(func(u *v1alpha1.RFC2136Provider) { u.Server = "ns_1" }))
	broken.ResourceVersion = "1"
	other := broken.DeepCopy()
	other.Spec.Paused = true
	wantErrors(t, DNSClassUpdate(other, broken, false), "")
	other.Spec.RequestsPerSecond = ptr.To[int32](0)
	wantErrors(t, DNSClassUpdate(other, broken, false), invalid+"spec.requestsPerSecond")
}

func TestDNSClassStatusUpdate_bounds(t *testing.T) {
	before := newClass(withUpdate(nil))
	before.ResourceVersion = "1"
	after := before.DeepCopy()
	after.Status = v1alpha1.DNSClassStatus{Health: &v1alpha1.ClassHealth{Status: v1alpha1.HealthStatusHealthy, Message: "fine"},
		Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "ServerHealthy", LastTransitionTime: metav1.Now()}}}
	wantErrors(t, DNSClassStatusUpdate(after, before), "")
	after.Status.Health = &v1alpha1.ClassHealth{Status: "Fine", Message: strings.Repeat("x", maxMessage+1)}
	after.Status.Conditions[0].Reason = ""
	wantErrors(t, DNSClassStatusUpdate(after, before), unsupported+"status.health.status, "+tooLong+"status.health.message, "+required+"status.conditions[0].reason")
}

func TestDNSClassWarnings(t *testing.T) {
	type spec = *v1alpha1.DNSClassSpec
	for _, test := range []struct {
		name   string
		change func(spec)
		want   string
	}{
		{"nothing to say", withWebhook(nil), ""},
		{"for no namespace", func(s spec) { withWebhook(nil)(s); s.Namespaces = nil }, "spec.namespaces: is absent"},
		{"for no namespace, explicitly", func(s spec) { withWebhook(nil)(s); s.Namespaces = &v1alpha1.NamespaceSelection{} }, "spec.namespaces: selects no namespace"},
		{"unsigned over http", withWebhook(func(w *v1alpha1.WebhookProvider) { w.Server, w.HMACAuth = "http://hook", nil }), "without hmacAuth"},
		{"webhook at the machine", withWebhook(func(w *v1alpha1.WebhookProvider) { w.Server = "https://[::1]:8443/x" }),
			"spec.webhook.server: ::1 is"},
		{"server at the machine", func(s spec) {
			s.Webhook, s.RFC2136 = nil, &v1alpha1.RFC2136Provider{Server: "127.0.0.1:5301"}
		}, "spec.rfc2136.server: 127.0.0.1:5301 is an address of the machine"},
		{"secondary at the machine", func(s spec) {
			s.Webhook, s.Transfer = nil, &v1alpha1.TransferProvider{Secondaries: []v1alpha1.Secondary{{Address: "192.0.2.1"},
				{Address: "127.0.0.1:5301"}}}
		}, "spec.transfer.secondaries[1].address: 127.0.0.1:5301 is"},
		{"also notified at the link", func(s spec) {
			s.Webhook, s.Transfer = nil, &v1alpha1.TransferProvider{AlsoNotify: []string{"fe80::1"}}
		}, "spec.transfer.alsoNotify[0]: fe80::1"},
		{"the machine, as allowed", func(s spec) {
			s.AllowLocalAddresses = true
			s.Webhook, s.Transfer = nil, &v1alpha1.TransferProvider{Secondaries: []v1alpha1.Secondary{{Address: "127.0.0.1"}}}
		}, ""},
		{"secret in the class", withWebhook(func(w *v1alpha1.WebhookProvider) { w.HMACAuth = &v1alpha1.HMACAuth{Secret: "x"} }), "spec.webhook.hmacAuth.secret:"},
	} {
		t.Run(test.name, func(t *testing.T) { wantWarning(t, DNSClassWarnings(newClass(test.change)), test.want) })
	}
	class := newClass(withWebhook(nil))
	class.Spec.Namespaces, class.Annotations = nil, map[string]string{v1alpha1.AnnotationDefaultClass: "true"}
	wantWarning(t, DNSClassWarnings(class), "")
}

// If an update of a DNSClass names another server, the new server gets every zone of the class, and the old server
// keeps its copies. The update is accepted, and a Warning says both.
func TestDNSClassUpdateWarnings(t *testing.T) {
	hook := func(server string) func(*v1alpha1.DNSClassSpec) {
		return withWebhook(func(w *v1alpha1.WebhookProvider) { w.Server = server })
	}
	update := func(server string) func(*v1alpha1.DNSClassSpec) {
		return withUpdate(func(u *v1alpha1.RFC2136Provider) { u.Server = server })
	}
	for _, test := range []struct {
		name     string
		from, to func(*v1alpha1.DNSClassSpec)
		want     string
	}{
		{name: "the same", from: hook("https://one"), to: hook("https://one")},
		{name: "another webhook", from: hook("https://one"), to: hook("https://two"), want: "spec.webhook.server: the new server gets every zone of the class, and the old server keeps its copies"},
		{name: "another primary", from: update("ns1"), to: update("ns2"), want: "spec.rfc2136.server: the new server"},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantWarning(t, DNSClassUpdateWarnings(newClass(test.to), newClass(test.from)), test.want)
		})
	}
}

// Promise 2: no DNSClass causes a panic.
func FuzzDNSClass(f *testing.F) {
	for _, seed := range [][4]string{
		{"https://hook/v1", "192.0.2.1:53", "ns1:53", "catalog."}, {"http://[::1%25eth0]:x", "[::1]", "[::1]:", "*"}, {"//", ":", ":", "."}, {"https://%zz@:", "::ffff:1.2.3.4%x", "0x", "\xff"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], []byte("-----BEGIN CERTIFICATE-----"))
	}
	f.Fuzz(func(t *testing.T, url, address, host, catalog string, ca []byte) {
		class := newClass(withWebhook(func(w *v1alpha1.WebhookProvider) { w.Server, w.TLS = url, &v1alpha1.WebhookTLS{CABundle: ca} }))
		withTransfer(func(p *v1alpha1.TransferProvider) { p.Secondaries[0].Address, p.CatalogZone = address, catalog })(&class.Spec)
		withUpdate(func(u *v1alpha1.RFC2136Provider) { u.Server = host })(&class.Spec)
		errs := DNSClass(class, false)
		DNSClassWarnings(class)
		class.ResourceVersion = "1"
		if left := DNSClassUpdate(class, class, false); len(left) > 0 {
			t.Error(fmt.Errorf("an update that changes nothing is refused: %v (of %v)", left, errs))
		}
	})
}

// Tenants write Zones and Records. If these specs had a field for a Secret or a server's address, a tenant could have
// the controller use another's Secret, or connect to a host of the tenant's choice (attacks 49 and 50). So only the
// cluster-scoped DNSClass has such fields.
func TestAttack49_50_tenantsNameNeitherSecretsNorServers(t *testing.T) {
	var walk func(of reflect.Type, path string, seen map[reflect.Type]bool)
	walk = func(of reflect.Type, path string, seen map[reflect.Type]bool) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || seen[of] {
			return
		}
		seen[of] = true
		if name := of.Name(); strings.Contains(name, "Secret") {
			t.Errorf("%s is a %s", path, name)
		}
		for i := range of.NumField() {
			field := of.Field(i)
			switch lower := strings.ToLower(field.Name); {
			case strings.Contains(lower, "secret"), strings.Contains(lower, "token"), strings.Contains(lower, "url"), lower == "server", lower == "endpoint":
				t.Errorf("%s.%s", path, field.Name)
			}
			walk(field.Type, path+"."+field.Name, seen)
		}
	}
	for kind, spec := range map[string]any{"Zone": v1alpha1.ZoneSpec{}, "Record": v1alpha1.RecordSpec{}} {
		walk(reflect.TypeOf(spec), kind+".spec", map[reflect.Type]bool{})
	}
	// Prove that the walk finds a Secret.
	if found := reflect.TypeOf(v1alpha1.HMACAuth{}); found.NumField() == 0 || !strings.Contains(found.Field(0).Name, "Secret") {
		t.Errorf("%s has another form", found)
	}
}

// A provider block without a row would be admitted unchecked.
func TestDNSClass_judgesEveryProvider(t *testing.T) {
	if got, want := slices.Sorted(maps.Keys(providers)), slices.Sorted(slices.Values(class.Providers())); !slices.Equal(got, want) {
		t.Errorf("the provider blocks of DNSClassSpec are %v, providers in dnsclass.go has rows for %v: add the row of a new block there, with its validate", want, got)
	}
}

// A class with TLS needs both Secrets, by names that lead nowhere else, and no other server list; tlsServer and
// catalogGroup belong to it and to a catalog (S17.2, S17.5).
func TestDNSClass_tls(t *testing.T) {
	for want, change := range map[string]func(*v1alpha1.TransferProvider){
		"":                            func(*v1alpha1.TransferProvider) {},
		"tls.serverSecretRef.name":    func(p *v1alpha1.TransferProvider) { p.TLS.ServerSecretRef.Name = "../team-a/server" },
		"clientCASecretRef.namespace": func(p *v1alpha1.TransferProvider) { p.TLS.ClientCASecretRef.Namespace = "" },
		"clientNames[0]":              func(p *v1alpha1.TransferProvider) { p.TLS.ClientNames = []string{"*"} },
		"tlsServer": func(p *v1alpha1.TransferProvider) {
			p.Secondaries = []v1alpha1.Secondary{{Address: "192.0.2.1", Signs: true}}
		},
		"secondaries[0].tlsServer": func(p *v1alpha1.TransferProvider) {
			p.TLS, p.Secondaries = nil, []v1alpha1.Secondary{{Address: "192.0.2.1", TLSServer: "ns1.example.org"}}
		},
		"catalogGroup": func(p *v1alpha1.TransferProvider) { p.CatalogGroup = "signed" },
		"must have at": func(p *v1alpha1.TransferProvider) { p.CatalogZone, p.CatalogGroup = "catalog.example.", "a\nb" },
	} {
		ref := v1alpha1.SecretReference{Name: "a", Namespace: "dns"}
		of := &v1alpha1.DNSClass{Spec: v1alpha1.DNSClassSpec{Transfer: &v1alpha1.TransferProvider{
			TLS: &v1alpha1.TransferTLS{ServerSecretRef: ref, ClientCASecretRef: ref}}}}
		change(of.Spec.Transfer)
		errs := validateTransfer(&of.Spec, false, specPath.Child("transfer"))
		if text := fmt.Sprint(errs.ToAggregate()); want == "" && len(errs) > 0 || !strings.Contains(text, want) {
			t.Errorf("%q: %v", want, errs)
		}
	}
	before := &v1alpha1.DNSClass{Spec: v1alpha1.DNSClassSpec{Transfer: &v1alpha1.TransferProvider{CatalogZone: "c.", CatalogGroup: "a"}}}
	after := before.DeepCopy()
	after.Spec.Transfer.CatalogGroup = "b"
	if text := fmt.Sprint(DNSClassUpdate(after, before, false)); !strings.Contains(text, `"b": is immutable, and was "a"`) {
		t.Errorf("another group: %s", text)
	}
}
