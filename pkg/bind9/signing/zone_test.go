// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/bind9/agents"
	"kubi.zone/kubizone/pkg/delivery/controller/class"
	"kubi.zone/kubizone/pkg/delivery/controller/transferclass"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

type keysByName struct{}

func (keysByName) Get(_ context.Context, namespace, name string) (map[string][]byte, error) {
	return map[string][]byte{"name": []byte(name + ".bind9." + namespace + "."), "secret": []byte(strings.Repeat("A", 42) + "I=")}, nil
}

// signingCluster admits all zones.
func signingCluster(namespace, name string, dnssec bool) []runtime.Object {
	cluster := &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name), Finalizers: []string{v1alpha1.FinalizerDelivery}}}
	cluster.Spec.ZoneNamespaces = &bind9.NamespaceSelection{Selector: &metav1.LabelSelector{}}
	objects := []runtime.Object{cluster}
	if dnssec {
		cluster.Spec.DNSSEC = &bind9.ClusterDNSSEC{}
	}
	for i, role := range []bind9.Role{bind9.RoleSigner, bind9.RolePrimary} {
		if role == bind9.RoleSigner && !dnssec {
			continue
		}
		server := &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%s-0", name, strings.ToLower(string(role)))}}
		server.UID = types.UID(namespace + "/" + server.Name)
		server.Spec.Role, server.Spec.ClusterRef = role, &bind9.ClusterReference{Name: name}
		server.Status.Addresses = []string{fmt.Sprintf("192.0.2.%d", i+1)}
		objects = append(objects, server)
	}
	return objects
}

func classOf(name, cluster string, namespaces []string, views ...string) *v1alpha1.DNSClass {
	namespace, cluster, _ := strings.Cut(cluster, "/")
	of := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	of.Spec.Namespaces, of.Spec.Views = &v1alpha1.NamespaceSelection{Names: namespaces}, views
	of.Spec.Bind9 = &v1alpha1.Bind9Provider{CatalogZone: "catalog." + name + ".", ClusterRef: &v1alpha1.Bind9ClusterReference{Namespace: namespace, Name: cluster}}
	return of
}

func zoneOf(namespace, view string, ref v1alpha1.DNSClassReference, age time.Duration) (*v1alpha1.Zone, *v1alpha1.Delivery) {
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "z", UID: types.UID("uid-" + namespace), ResourceVersion: "1280"}}
	zone.Spec.DNSClassRefs, zone.Spec.DNSSEC = []v1alpha1.DNSClassReference{ref}, &v1alpha1.ZoneDNSSEC{Policy: "default"}
	zone.Status.FQDN, zone.Status.View, zone.Status.Serial = "example.org.", view, 1
	one := &v1alpha1.Delivery{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "z-1", UID: types.UID("d-" + namespace), ResourceVersion: "1280", CreationTimestamp: metav1.NewTime(begin.Add(-age)),
	}}
	one.Spec.Zone, one.Spec.ClassRef, one.Status.FQDN = v1alpha1.DeliveredZone{Name: "z", UID: zone.UID}, ref, zone.Status.FQDN
	return zone, one
}

func newController(t *testing.T, holder func([]string, name.Name) string, objects ...runtime.Object) *Controller {
	t.Helper()
	client := fake.NewClientset(objects...)
	informers := externalversions.NewSharedInformerFactory(client, 0)
	servers, views := transferclass.NewServers(informers), zoneview.NewSet(zoneview.Config{})
	classes := must.Get(class.New(class.Config{
		Identity: "me", Client: client, Informers: informers, Clusters: informers.Bind9().V1alpha1().Bind9Clusters(), Views: views,
		Secrets: keysByName{}, Registry: metrics.NewKubeRegistry(),
	}))(t)
	api := informers.Kubizone().V1alpha1()
	c := must.Get(New(Config{
		Client: client, Zones: api.Zones(), Deliveries: api.Deliveries(), Classes: api.DNSClasses(), InForce: classes.InForce, Holder: holder, Views: views,
		Servers: servers, Agents: agents.New(keysByName{}), Secrets: keysByName{}, Now: func() time.Time { return begin },
		Registry: metrics.NewKubeRegistry(),
	}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	informers.StartWithContext(ctx)
	t.Cleanup(func() { cancel(); informers.Shutdown(); c.queue.ShutDown() })
	informers.WaitForCacheSync(ctx.Done())
	return c
}

// Mallory, in namespace team, tries to use the platform's signer for her zones.
func TestFindSigner_S12_4(t *testing.T) {
	const signer = "platform/public-signer-0"
	public := v1alpha1.DNSClassReference{Kind: v1alpha1.KindDNSClass, Name: "public"}
	ownCluster := v1alpha1.DNSClassReference{Kind: v1alpha1.KindBind9Cluster, Name: "public"}
	type member struct {
		namespace, view string
		ref             v1alpha1.DNSClassReference
		age             time.Duration
		phase           v1alpha1.DNSSECPhase // not empty: signed by the platform's signer
	}
	mallory := member{"team", "", public, 0, ""}
	inside := member{"team", "inside", public, 0, ""}
	byUpdate := classOf("public", "platform/public", []string{"team"})
	byUpdate.Spec.Bind9.Mode = v1alpha1.Bind9ModeUpdate
	for title, test := range map[string]struct {
		classes []*v1alpha1.DNSClass
		own     string // "", or the cluster of mallory: "plain" or "signs"
		zones   []member
		signer  string // of the first zone
		blocked string
	}{
		"the class is for its namespace": {[]*v1alpha1.DNSClass{classOf("public", "platform/public", []string{"team"})}, "", []member{mallory}, signer, ""},
		"the class is for other namespaces": {[]*v1alpha1.DNSClass{classOf("public", "platform/public", []string{"victim"})}, "",
			[]member{mallory}, "", "no longer in force"},
		"the class is in another mode": {[]*v1alpha1.DNSClass{byUpdate}, "", []member{mallory}, "", "in the mode Catalog"},
		"the class is for other views": {[]*v1alpha1.DNSClass{classOf("public", "platform/public", []string{"team"})}, "",
			[]member{inside}, "", "no longer in force"},
		"a cluster of mallory has the name of the class": {[]*v1alpha1.DNSClass{classOf("public", "platform/public", []string{"team"})}, "plain",
			[]member{{"team", "inside", ownCluster, 0, ""}}, "", "team/public signs no zones"},
		"a cluster of mallory signs by itself": {[]*v1alpha1.DNSClass{classOf("public", "platform/public", []string{"victim"})}, "signs",
			[]member{{"team", "inside", ownCluster, 0, ""}}, "team/public-signer-0", ""},
		"it is signed, and its class has another signer": {nil, "signs",
			[]member{{"team", "inside", ownCluster, 0, v1alpha1.DNSSECSigned}}, "", "signed by platform/public-signer-0, and Bind9Cluster team/public has the signer team/public-signer-0"},
		"the zone of the default view has the class": {[]*v1alpha1.DNSClass{classOf("public", "platform/public", []string{"team", "victim"}, "*")}, "",
			[]member{inside, {"victim", "", public, -time.Hour, ""}}, "", "no longer in force"},
		"the zone of another view came first": {[]*v1alpha1.DNSClass{classOf("public", "platform/public", []string{"team", "victim"}, "*")}, "",
			[]member{inside, {"victim", "outside", public, time.Hour, ""}}, "", "another Zone"},
		"it came first itself": {[]*v1alpha1.DNSClass{classOf("public", "platform/public", []string{"team", "victim"}, "*")}, "",
			[]member{inside, {"victim", "outside", public, -time.Hour, ""}}, signer, ""},
		"it came first, and the other one is signed": {[]*v1alpha1.DNSClass{classOf("public", "platform/public", []string{"team", "victim"}, "*")}, "",
			[]member{inside, {"victim", "outside", public, -time.Hour, v1alpha1.DNSSECSigned}}, "", "another Zone"},
		"it is signed, and the other one came first": {[]*v1alpha1.DNSClass{classOf("public", "platform/public", []string{"team", "victim"}, "*")}, "",
			[]member{{"team", "inside", public, 0, v1alpha1.DNSSECSigned}, {"victim", "outside", public, time.Hour, ""}}, signer, ""},
		"the zone of another class of the cluster came first": {[]*v1alpha1.DNSClass{
			classOf("public", "platform/public", []string{"team"}, "inside"), classOf("other", "platform/public", []string{"victim"}, "outside"),
		}, "", []member{inside, {"victim", "outside", v1alpha1.DNSClassReference{Name: "other"}, time.Hour, ""}}, "", "another Zone"},
	} {
		t.Run(title, func(t *testing.T) {
			objects := signingCluster("platform", "public", true)
			if test.own != "" {
				objects = append(objects, signingCluster("team", "public", test.own == "signs")...)
			}
			for _, of := range test.classes {
				objects = append(objects, of)
			}
			var first *v1alpha1.Zone
			var deliveries []*v1alpha1.Delivery
			for _, m := range test.zones {
				zone, one := zoneOf(m.namespace, m.view, m.ref, m.age)
				if m.phase != "" {
					zone.Status.DNSSEC = &v1alpha1.ZoneDNSSECStatus{FQDN: zone.Status.FQDN, Phase: m.phase, Policy: "default", Signer: &v1alpha1.ZoneSigner{Namespace: "platform", Name: "public-signer-0"}}
				}
				if first == nil {
					first = zone
				}
				objects, deliveries = append(objects, zone, one), append(deliveries, one)
			}
			known := false
			c := newController(t, func(classes []string, _ name.Name) string {
				var first *v1alpha1.Delivery
				for _, one := range deliveries {
					if known && slices.Contains(classes, apiclass.NameOf(one.Namespace, one.Spec.ClassRef)) && (first == nil || one.CreationTimestamp.Before(&first.CreationTimestamp)) {
						first = one
					}
				}
				if first == nil {
					return ""
				}
				return string(first.Spec.Zone.UID)
			}, objects...)
			w := &work{Controller: c, zone: first, fqdn: name.MustParse(first.Status.FQDN)}
			if err := w.findSigner(t.Context(), &facts{policy: "default", status: first.Status.DNSSEC}); w.agent != nil && first.Status.DNSSEC == nil {
				t.Errorf("a signer before it is known which zone has the name: %v", err)
			}
			known, w = true, &work{Controller: c, zone: first, fqdn: w.fqdn}
			f := &facts{policy: "default", status: first.Status.DNSSEC}
			must.Succeed(t, w.findSigner(t.Context(), f))
			got := ""
			if w.agent != nil {
				got = w.signer.Namespace + "/" + w.signer.Name
			}
			if got != test.signer || !strings.Contains(f.blocked, test.blocked) || (f.blocked == "") != (test.blocked == "") {
				t.Errorf("signer %q, blocked %q; want %q and %q", got, f.blocked, test.signer, test.blocked)
			}
		})
	}
}

// A zone stays unsigned by a policy that its cluster lacks, and beside a second class that delivers it (S12.4).
func TestFindSigner_needsAPolicyAndOneClass_S12_4(t *testing.T) {
	for blocked, test := range map[string]struct {
		policy  string
		classes []string
	}{
		`has no policy "absent"`:                           {"absent", []string{"public"}},
		"2 classes deliver it, and one signer can sign it": {"default", []string{"public", "other"}},
	} {
		objects := signingCluster("platform", "public", true)
		var zone *v1alpha1.Zone
		for _, class := range test.classes {
			of, one := zoneOf("team", "", v1alpha1.DNSClassReference{Name: class}, 0)
			one.Name, zone = class, of
			objects = append(objects, classOf(class, "platform/public", []string{"team"}), one)
		}
		c := newController(t, func([]string, name.Name) string { return string(zone.UID) }, append(objects, zone)...)
		f := &facts{policy: test.policy}
		must.Succeed(t, (&work{Controller: c, zone: zone, fqdn: name.MustParse(zone.Status.FQDN)}).findSigner(t.Context(), f))
		if !strings.Contains(f.blocked, blocked) {
			t.Errorf("blocked %q, want %q", f.blocked, blocked)
		}
	}
}

// The switch to the signed zone waits for every server of the class. A server without an address, as every new server
// is at first, delays the switch and is not skipped (S12.5).
func TestFindSigner_waitsForServersThatAreMade_S12_5(t *testing.T) {
	objects := append(signingCluster("platform", "public", true), classOf("public", "platform/public", []string{"team"}))
	made := objects[2].(*bind9.Bind9Instance).DeepCopy()
	made.Name, made.UID, made.Status.Addresses = "public-primary-1", "made", nil
	zone, one := zoneOf("team", "", v1alpha1.DNSClassReference{Name: "public"}, 0)
	c := newController(t, func([]string, name.Name) string { return string(zone.UID) }, append(objects, made, zone, one)...)
	w, f := &work{Controller: c, zone: zone, fqdn: name.MustParse(zone.Status.FQDN)}, &facts{policy: "default"}
	if err := w.findSigner(t.Context(), f); err != nil || w.agent == nil || f.unsigned != "platform/public-primary-1 has no address yet" {
		t.Errorf("%v, blocked %q, lacking %q", err, f.blocked, f.unsigned)
	}
}

// When a signed Zone is deleted, the zone is removed at the signer. If the keys there already belong to a zone of that
// name in another namespace, the signer's zone stays (S12.9).
func TestSyncZone_leavesAZoneOfAnotherNamespace_S12_9(t *testing.T) {
	for owner, removed := range map[string]bool{"team": true, "": true, "victim": false} {
		agent := startAgent(t, map[string]string{"example.org": owner})
		zone, _ := zoneOf("team", "", v1alpha1.DNSClassReference{Name: "public"}, 0)
		zone.DeletionTimestamp, zone.Finalizers = &metav1.Time{Time: begin}, []string{v1alpha1.FinalizerDelivery}
		zone.Status.DNSSEC = &v1alpha1.ZoneDNSSECStatus{FQDN: zone.Status.FQDN, Phase: v1alpha1.DNSSECSigned, Signer: &v1alpha1.ZoneSigner{Namespace: "platform", Name: "public-signer-0"}}
		of := classOf("public", "platform/public", []string{"team"})
		of.Spec.AllowLocalAddresses = true
		objects := append(signingCluster("platform", "public", true), of, zone)
		objects[1].(*bind9.Bind9Instance).Spec.External = &bind9.ExternalServer{AgentURL: agent.url, AllowPlainHTTP: true}
		c := newController(t, func([]string, name.Name) string { return string(zone.UID) }, objects...)
		must.Get(c.syncZone(t.Context(), zone))(t)
		live, err := c.Client.KubizoneV1alpha1().Zones("team").Get(t.Context(), zone.Name, metav1.GetOptions{})
		if err != nil || live.Status.DNSSEC != nil || (len(agent.deleted) == 1) != removed {
			t.Errorf("keys of %q: removed %q, status.dnssec %+v, %v", owner, agent.deleted, live.Status.DNSSEC, err)
		}
	}
}

// A deleted Zone that no class delivers any more is kept by its finalizer until the signer has removed the zone. If the
// signer itself is deleted, the Zone goes at once (S12.9).
func TestSyncZone_removesADeletedZone_S12_9(t *testing.T) {
	for title, test := range map[string]struct {
		signer    string
		delivered bool
		gone      bool
		message   string
	}{
		"a class delivers it still":  {"public-signer-0", true, false, ""},
		"the signer does not answer": {"public-signer-0", false, false, "not removed at the signer"},
		"the signer is deleted":      {"former-signer-0", false, true, ""},
	} {
		t.Run(title, func(t *testing.T) {
			zone, one := zoneOf("team", "", v1alpha1.DNSClassReference{Name: "public"}, 0)
			zone.DeletionTimestamp, zone.Finalizers = &metav1.Time{Time: begin}, []string{v1alpha1.FinalizerDelivery}
			zone.Status.DNSSEC = &v1alpha1.ZoneDNSSECStatus{FQDN: zone.Status.FQDN, Phase: v1alpha1.DNSSECSigned, Signer: &v1alpha1.ZoneSigner{Namespace: "platform", Name: test.signer}}
			objects := append(signingCluster("platform", "public", true), zone)
			if test.delivered {
				objects = append(objects, one)
			}
			c := newController(t, func([]string, name.Name) string { return string(zone.UID) }, objects...)
			looking, cancel := context.WithTimeout(t.Context(), time.Second) // no agent at 192.0.2.1
			defer cancel()
			again := must.Get(c.syncZone(looking, zone))(t)
			live := must.Get(c.Client.KubizoneV1alpha1().Zones("team").Get(t.Context(), zone.Name, metav1.GetOptions{}))(t)
			if status := live.Status.DNSSEC; (status == nil) != test.gone || status != nil && !strings.Contains(status.Message, test.message) || (again == 0) != test.gone {
				t.Errorf("status.dnssec %+v, looked at again in %s", status, again)
			}
		})
	}
}

const signedUntil = 1_900_000_000

func startSigned(t *testing.T, secret string, serial uint32) string {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	key, _ := keysByName{}.Get(t.Context(), "platform", secret)
	server := &mdns.Server{Listener: listener, TsigSecret: map[string]string{string(key["name"]): string(key["secret"])}, Handler: mdns.HandlerFunc(func(w mdns.ResponseWriter, question *mdns.Msg) {
		answer := new(mdns.Msg).SetReply(question)
		answer.Authoritative = true
		if signed := question.IsTsig(); signed != nil {
			answer.SetTsig(signed.Hdr.Name, signed.Algorithm, 300, time.Now().Unix())
		}
		header := mdns.RR_Header{Name: question.Question[0].Name, Rrtype: question.Question[0].Qtype, Class: mdns.ClassINET, Ttl: 300}
		switch header.Rrtype {
		case mdns.TypeDNSKEY:
			answer.Answer = []mdns.RR{&mdns.DNSKEY{Hdr: header, Flags: 257, Protocol: 3, Algorithm: mdns.ECDSAP256SHA256, PublicKey: "AwEAAQ=="}}
		case mdns.TypeSOA:
			answer.Answer = []mdns.RR{&mdns.SOA{Hdr: header, Ns: "ns.", Mbox: "hostmaster.", Serial: serial, Refresh: 1, Retry: 1, Expire: 1, Minttl: 1}}
			header.Rrtype = mdns.TypeRRSIG
			answer.Answer = append(answer.Answer, &mdns.RRSIG{Hdr: header, TypeCovered: mdns.TypeSOA, SignerName: ".", Signature: "AwEAAQ==",
				Expiration: signedUntil})
		}
		_ = w.WriteMsg(answer)
	})}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown() })
	return listener.Addr().String()
}

// At the end of signing, status.dnssec names a serial above those of the servers, which the zone's serial then passes.
func TestLookAt_passesTheServersOfASignedZone_S12_5(t *testing.T) {
	silent := must.Get(rig.FreePort())(t)
	for title, test := range map[string]struct {
		signer  string // "": answers
		past    int64
		message string
	}{
		"it goes past them":          {"", 30 + serialMargin, "goes past"},
		"the signer does not answer": {silent.String(), 0, "signer-0: "},
	} {
		t.Run(title, func(t *testing.T) {
			zone, one := zoneOf("team", "", v1alpha1.DNSClassReference{Name: "public"}, 0)
			zone.Spec.DNSSEC, zone.Status.Serial = nil, 10
			zone.Status.DNSSEC = &v1alpha1.ZoneDNSSECStatus{FQDN: zone.Status.FQDN, Phase: v1alpha1.DNSSECReturning, Policy: "default",
				Signer: &v1alpha1.ZoneSigner{Namespace: "platform", Name: "public-signer-0"}}
			of := classOf("public", "platform/public", []string{"team"})
			of.Spec.AllowLocalAddresses = true
			objects := append(signingCluster("platform", "public", true), of, zone, one)
			agent := startAgent(t, nil)
			for i, at := range []string{cmp.Or(test.signer, startSigned(t, "key-0", 20)), startSigned(t, "key-1", 30)} {
				objects[1+i].(*bind9.Bind9Instance).Spec.External = &bind9.ExternalServer{Address: at, TSIGSecretName: fmt.Sprintf("key-%d", i),
					AgentURL: agent.url, AllowPlainHTTP: true}
			}
			c := newController(t, func([]string, name.Name) string { return string(zone.UID) }, objects...)
			c.syncObject(t.Context(), cache.MetaObjectToName(zone))
			live := must.Get(c.Client.KubizoneV1alpha1().Zones("team").Get(t.Context(), zone.Name, metav1.GetOptions{}))(t)
			if of := live.Status.DNSSEC; of.PassSerial != test.past || !strings.Contains(of.Message, test.message) {
				t.Errorf("status.dnssec %+v, want past %d, with %q", of, test.past, test.message)
			}
		})
	}
}

// A resolver may have fetched the DS just before it left the parent, and keeps the DS for its TTL, an hour here. The
// policy expects ten minutes. The signed zone stays for the hour, though each step is a new process (G1, G5).
func TestSyncZone_waitsForTheDSAfterARestart_S12_5(t *testing.T) {
	zone, one := zoneOf("team", "", v1alpha1.DNSClassReference{Name: "public"}, 0)
	zone.Spec.DNSSEC = nil
	zone.Status.DNSSEC = &v1alpha1.ZoneDNSSECStatus{FQDN: zone.Status.FQDN, Phase: v1alpha1.DNSSECWithdrawing, Policy: "quick",
		Signer: &v1alpha1.ZoneSigner{Namespace: "platform", Name: "public-signer-0"}}
	of := classOf("public", "platform/public", []string{"team"})
	of.Spec.AllowLocalAddresses = true
	fleet := signingCluster("platform", "public", true)
	fleet[0].(*bind9.Bind9Cluster).Spec.DNSSEC.Policies = []bind9.DNSSECPolicy{{Name: "quick",
		Timing: &bind9.DNSSECTiming{ParentDSTTL: &metav1.Duration{Duration: 10 * time.Minute}}}}
	for i := range 2 {
		fleet[1+i].(*bind9.Bind9Instance).Spec.External = &bind9.ExternalServer{Address: fmt.Sprintf("192.0.2.%d", i+1),
			TSIGSecretName: fmt.Sprintf("key-%d", i), AgentURL: startAgent(t, nil).url, AllowPlainHTTP: true}
	}
	signed, unsigned := startParent(t, 1), startParent(t)
	for _, step := range []struct {
		after  time.Duration
		parent netip.AddrPort
		phase  v1alpha1.DNSSECPhase
	}{
		{0, signed, v1alpha1.DNSSECWithdrawing},
		{time.Minute, unsigned, v1alpha1.DNSSECExpiring},
		{12 * time.Minute, unsigned, v1alpha1.DNSSECExpiring},
		{61 * time.Minute, unsigned, v1alpha1.DNSSECReturning},
	} {
		c := newController(t, func([]string, name.Name) string { return string(zone.UID) }, append(slices.Clone(fleet), of, zone, one)...)
		c.Now = func() time.Time { return begin.Add(step.after) }
		c.ParentServers = func(context.Context, name.Name) ([]ParentServer, error) {
			return []ParentServer{{Name: "a.", Addresses: []netip.AddrPort{step.parent}}}, nil
		}
		must.Get(c.syncZone(t.Context(), zone))(t)
		zone = must.Get(c.Client.KubizoneV1alpha1().Zones("team").Get(t.Context(), zone.Name, metav1.GetOptions{}))(t)
		if of := zone.Status.DNSSEC; of.Phase != step.phase {
			t.Fatalf("after %s: phase %s, %q, want %s", step.after, of.Phase, of.Message, step.phase)
		}
	}
}

// Too long a message is cut between two characters. Cut within a character, the message would read back changed, and
// each reconcile would see a difference and write again without end.
func TestWriteStatus_cutsAtACharacter(t *testing.T) {
	for _, text := range []string{"short", "not UTF-8: \xe4", strings.Repeat("a", maxMessage), "a" + strings.Repeat("\u00e4", maxMessage), strings.Repeat("\u20ac", maxMessage)} {
		zone, _ := zoneOf("team", "", v1alpha1.DNSClassReference{Name: "public"}, 0)
		client := fake.NewClientset(zone)
		c := &Controller{Config: Config{Client: client}}
		for range 2 {
			live := must.Get(client.KubizoneV1alpha1().Zones(zone.Namespace).Get(t.Context(), zone.Name, metav1.GetOptions{}))(t)
			w := &work{Controller: c, zone: live}
			must.Succeed(t, w.writeProblem(t.Context(), errors.New(text)))
		}
		live := must.Get(client.KubizoneV1alpha1().Zones(zone.Namespace).Get(t.Context(), zone.Name, metav1.GetOptions{}))(t)
		patches := 0
		for _, action := range client.Actions() {
			if action.GetVerb() == "patch" {
				patches++
			}
		}
		if message := live.Status.DNSSEC.Message; patches != 1 || len(message) > maxMessage || len(message) < min(len(text)-1, maxMessage-3) || !strings.HasPrefix(text, message) {
			t.Errorf("%.20q: %d writes, %d octets: ...%q", text, patches, len(message), message[max(0, len(message)-8):])
		}
	}
}
