// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transferclass

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/backup"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
	"kubi.zone/kubizone/test/must"
)

var created = time.Unix(1700000000, 0)

// makeVersion is for an object written alone at a revision.
func makeVersion(revision int) string {
	return fmt.Sprint(subrev.Version(int64(revision), subrev.Last))
}

// An empty fqdn means no intent yet.
func deliveryOf(class, uid, fqdn string, revision int) *v1alpha1.Delivery {
	one := &v1alpha1.Delivery{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: uid + "-" + class, UID: types.UID("d-" + uid),
		CreationTimestamp: metav1.NewTime(created), ResourceVersion: makeVersion(revision)}}
	one.Spec.Zone, one.Spec.ClassRef = v1alpha1.DeliveredZone{Name: uid, UID: types.UID(uid)}, v1alpha1.DNSClassReference{Kind: v1alpha1.KindDNSClass, Name: class}
	one.Status.FQDN = fqdn
	return one
}

func describeMembership(m primary.Membership) string {
	var all []string
	for _, one := range m.Members {
		all = append(all, one.UID+"="+one.Zone.String())
	}
	return strings.Join(all, " ")
}

func newMembers() (*Members, *[]string) {
	m, reported := NewMembers(nil), &[]string{}
	m.SetOnChange(func(class string) { *reported = append(*reported, class) })
	return m, reported
}

// A zone is a member from its first intent until the end of its Delivery. Only a change of members changes the
// serial.
func TestMembers_areWhatDeliveriesSay(t *testing.T) {
	m, reported := newMembers()
	s := store{m}
	select {
	case <-m.synced:
		t.Fatal("known before anything was listed")
	default:
	}
	must.Succeed(t, s.Replace([]any{deliveryOf("red", "a", "a.test.", 5), deliveryOf("red", "b", "", 6), deliveryOf("blue", "a", "a.test.",
		7)}, makeVersion(10)))
	<-m.synced
	begun := m.Membership("red", created, false)
	if describeMembership(begun) != "a=a.test." || begun.Serial != serialAt(created, 10) || !m.HasZone("a") || m.HasZone("b") {
		t.Errorf("%s at %d", describeMembership(begun), begun.Serial)
	}
	must.Succeed(t, s.Update(deliveryOf("red", "b", "b.test.", 11)))
	if now := m.Membership("red", created, false); describeMembership(now) != "a=a.test. b=b.test." || now.Serial != serialAt(created, 11) {
		t.Errorf("%s at %d", describeMembership(now), now.Serial)
	}
	confirmed := deliveryOf("red", "b", "b.test.", 12)
	confirmed.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	must.Succeed(t, s.Update(confirmed))
	if now := m.Membership("red", created, false); now.Serial != serialAt(created, 11) || !slices.Equal(m.ListUnconfirmed("red"), []string{"a"}) {
		t.Errorf("a confirmation: serial %d, unconfirmed %v", now.Serial, m.ListUnconfirmed("red"))
	}
	// A catalog of servers marks the zones that all servers had at some serial, present or former.
	first := confirmed.DeepCopy()
	first.ResourceVersion, first.Status.Serial = makeVersion(13), 1
	must.Succeed(t, s.Update(first))
	later := first.DeepCopy()
	later.ResourceVersion, later.Status.Conditions = makeVersion(14), nil
	must.Succeed(t, s.Update(later))
	if now, plain := m.Membership("red", created, true), m.Membership("red", created, false); now.Serial != serialAt(created, 13) ||
		!maps.Equal(now.Unconfirmed, map[string]bool{"a": true}) || describeMembership(now) != describeMembership(plain) ||
		plain.Serial != serialAt(created, 11) || plain.Unconfirmed != nil {
		t.Errorf("servers: %v at %d, others: %v at %d", now.Unconfirmed, now.Serial, plain.Unconfirmed, plain.Serial)
	}
	if now := m.Membership("none", created, true); now.Serial != serialAt(created, 10) || len(now.Unconfirmed) != 0 {
		t.Errorf("a class of nothing: %v at %d", now.Unconfirmed, now.Serial)
	}
	must.Succeed(t, s.Update(deliveryOf("red", "b", "renamed.test.", 14)))
	must.Succeed(t, s.Delete(deliveryOf("red", "a", "a.test.", 15)))
	if now := m.Membership("red", created, false); describeMembership(now) != "b=renamed.test." || now.Serial != serialAt(created, 15) {
		t.Errorf("%s at %d", describeMembership(now), now.Serial)
	}
	if now := m.Membership("blue", created, false); describeMembership(now) != "a=a.test." || now.Serial != serialAt(created, 10) {
		t.Errorf("blue: %s at %d", describeMembership(now), now.Serial)
	}
	if now := m.Membership("none", created, false); len(now.Members) != 0 || now.Serial != serialAt(created, 10) {
		t.Errorf("a class of nothing: %s at %d", describeMembership(now), now.Serial)
	}
	// An equal list changes nothing; a list is complete.
	*reported = nil
	must.Succeed(t, s.Replace([]any{deliveryOf("red", "b", "renamed.test.", 14), deliveryOf("blue", "a", "a.test.", 7)}, makeVersion(20)))
	if now := m.Membership("red", created, false); now.Serial != serialAt(created, 15) || len(*reported) != 0 {
		t.Errorf("nothing new: %d, told of %v", now.Serial, *reported)
	}
	must.Succeed(t, s.Replace([]any{deliveryOf("red", "b", "renamed.test.", 14)}, makeVersion(30)))
	if now := m.Membership("blue", created, false); len(now.Members) != 0 || now.Serial != serialAt(created, 30) || !slices.Equal(*reported, []string{"blue"}) {
		t.Errorf("blue: %s at %d, told of %v", describeMembership(now), now.Serial, *reported)
	}
	if err := s.Replace(nil, "soon"); err == nil {
		t.Error("a listing of no revision")
	}
}

// If two zones of a class have the same name, the zone whose Delivery is older is served under the name, in whatever
// order the Deliveries arrive.
func TestMembers_oneZoneHasAName(t *testing.T) {
	late, early := deliveryOf("red", "late", "x.test.", 5), deliveryOf("red", "early", "x.test.", 6)
	late.CreationTimestamp = metav1.NewTime(created.Add(time.Second))
	for _, list := range [][]any{{late, early}, {early, late}} {
		m, _ := newMembers()
		must.Succeed(t, store{m}.Replace(list, makeVersion(10)))
		of := m.OfClass("red")
		if got := of.Holder(name.MustParse("x.test.")); got != "early" || of.Name("late") != name.MustParse("x.test.") ||
			describeMembership(m.Membership("red", created, false)) != "early=x.test. late=x.test." {
			t.Errorf("%s has it; %s", got, describeMembership(m.Membership("red", created, false)))
		}
	}
	m, _ := newMembers()
	early.Spec.ClassRef.Name = "blue"
	must.Succeed(t, store{m}.Replace([]any{late, early}, makeVersion(10)))
	if m.OfClass("red").Holder(name.MustParse("x.test.")) != "late" || m.HolderAmong([]string{"red", "green", "blue"}, name.MustParse("x.test.")) != "early" {
		t.Error("of two classes, the zone that was delivered first does not have the name")
	}
	m, _ = newMembers()
	if m.OfClass("red").Holder(name.MustParse("x.test.")) != "" {
		t.Error("a name that no zone has has a holder")
	}
}

// A catalog is a function of the revision, for a process with every event, with occasional lists, or started late.
func TestMembers_areTheSameUnderASerial(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		there := map[string]*v1alpha1.Delivery{}
		listing := func() []any {
			var list []any
			for _, one := range there {
				list = append(list, one)
			}
			return list
		}
		watching, _ := newMembers()
		listed, _ := newMembers()
		must.Succeed(t, store{watching}.Replace(nil, makeVersion(1)))
		must.Succeed(t, store{listed}.Replace(nil, makeVersion(1)))
		known := map[string]string{}
		see := func(m *Members) {
			now := m.Membership("red", created, false)
			at := fmt.Sprint(now.Serial)
			if before, ok := known[at]; ok && before != describeMembership(now) {
				t.Fatalf("seed %d, serial %s: %s and %s", seed, at, before, describeMembership(now))
			}
			known[at] = describeMembership(now)
		}
		for revision := 2; revision < 60; revision++ {
			uid := fmt.Sprint("u", rnd.IntN(6))
			if there[uid] != nil && rnd.IntN(3) == 0 {
				gone := there[uid].DeepCopy()
				gone.ResourceVersion = makeVersion(revision)
				delete(there, uid)
				must.Succeed(t, store{watching}.Delete(gone))
			} else {
				there[uid] = deliveryOf("red", uid, []string{"", uid + ".test.", uid + ".other.test."}[rnd.IntN(3)], revision)
				must.Succeed(t, store{watching}.Update(there[uid]))
			}
			see(watching)
			if rnd.IntN(5) == 0 {
				must.Succeed(t, store{listed}.Replace(listing(), makeVersion(revision)))
				see(listed)
			}
			if rnd.IntN(10) == 0 {
				fresh, _ := newMembers()
				must.Succeed(t, store{fresh}.Replace(listing(), makeVersion(revision)))
				see(fresh)
			}
		}
	}
}

// A serial is never 0 and grows with the revision.
func TestSerialAt(t *testing.T) {
	before := serialAt(created, 1)
	for revision := uint64(2); revision < 1000; revision++ {
		now := serialAt(created, revision)
		if now == 0 || !now.Ahead(before) {
			t.Fatalf("revision %d: %d after %d", revision, now, before)
		}
		before = now
	}
	wrap := uint64(1<<32) - uint64(created.Unix())
	for revision := wrap - 5; revision < wrap+5; revision++ {
		if a, b := serialAt(created, revision), serialAt(created, revision+1); a == 0 || b == 0 || !b.Ahead(a) {
			t.Errorf("across the wrap: %d after %d", b, a)
		}
	}
	if again := serialAt(created.Add(24*time.Hour), 10); !again.Ahead(serialAt(created, 50000)) {
		t.Error("a class made anew in a new store is behind the one before it")
	}
}

// The serial of a catalog zone follows from etcd's revision. After every restore it is ahead of the serials served
// before the loss, because secondaries would otherwise ignore the restored catalog.
func TestSerialAt_isAheadAfterARestore(t *testing.T) {
	const kept, lost, written = 4_000_000, 1_000_000, 3_000_000 // revisions, less than the milliseconds of an hour
	taken := time.Date(2027, time.January, 1, 0, 0, 0, 0, time.UTC)
	for lap := range int64(16) {
		created := time.Unix(lap<<28, 0)
		before := serialAt(created, kept+lost)
		for hour := range 10 {
			at := backup.Clock{Now: taken.Add(time.Duration(hour+1) * time.Hour), Since: taken}
			restored := uint64(at.Revision(kept))
			if now := serialAt(created, restored); !now.Ahead(before) || !now.Ahead(serialAt(created, kept)) {
				t.Errorf("class of %s, restored after %d hours: serial %d after %d", created, hour+1, now, before)
			}
			before = serialAt(created, restored+written)
		}
	}
}

// A catalog's serial counts revisions of etcd, not resourceVersions.
func TestRevisionOf_isEtcds(t *testing.T) {
	for _, sub := range []int64{0, subrev.Last} {
		if got, err := revisionOf(fmt.Sprint(subrev.Version(7, sub))); got != 7 || err != nil {
			t.Errorf("sub-revision %d of revision 7: %d, %v", sub, got, err)
		}
	}
	for _, none := range []string{"", "0", "127", "x"} {
		if got, err := revisionOf(none); err == nil {
			t.Errorf("%q is of revision %d", none, got)
		}
	}
}

func serveSecrets(of map[string]map[string]string) secrets.GetFunc {
	return func(_, name string) (map[string][]byte, error) {
		if of[name] == nil {
			return nil, delivery.Errorf(delivery.ReasonSecretNotFound, "there is no Secret %s", name)
		}
		data := map[string][]byte{}
		for key, value := range of[name] {
			data[key] = []byte(value)
		}
		return data, nil
	}
}

const octets = "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="

// Every field of the block is read: peers, their keys, NOTIFY targets, awaited servers.
func TestReadPeers(t *testing.T) {
	get := serveSecrets(map[string]map[string]string{
		"common": {"name": "common.example", "secret": octets}, "own": {"name": "own.example.", "secret": octets, "algorithm": "HMAC-SHA512"},
		"twin": {"name": "COMMON.example", "secret": "b3RoZXIgc2VjcmV0IG9mIHRoaXJ0eS10d28gb2N0ZXQ="}, "empty": {"name": "e"}, "odd": {"name": "e", "secret": "canary !"},
	})
	ref := func(name string) *v1alpha1.SecretReference {
		return &v1alpha1.SecretReference{Namespace: "dns", Name: name}
	}
	of := func(block v1alpha1.TransferProvider) *v1alpha1.DNSClass {
		return &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "red"}, Spec: v1alpha1.DNSClassSpec{Transfer: &block}}
	}
	peers, err := ReadPeers(of(v1alpha1.TransferProvider{
		CatalogZone: "catalog.example.", TSIGSecretRef: ref("common"), AlsoNotify: []string{"192.0.2.9", "192.0.2.1"},
		Secondaries: []v1alpha1.Secondary{{Address: "192.0.2.1"}, {Address: "[2001:db8::1]:5353", TSIGSecretRef: ref("own"), Catalog: v1alpha1.CatalogIgnore}, {Address: "127.0.0.1"}},
	}), get)
	must.Succeed(t, err)
	reported := fmt.Sprint(peers.Class.Notify)
	if peers.Catalog.String() != "catalog.example." || peers.Class.Name != "red" || reported != "[{192.0.2.1:53 common.example. false false false} {[2001:db8::1]:5353 own.example. true false false} {192.0.2.9:53 common.example. false false false}]" {
		t.Errorf("catalog %s, told %s", peers.Catalog, reported)
	}
	if fmt.Sprint(peers.Class.Allow) != "[{[] common.example. false} {[] own.example. false}]" || len(peers.Class.Keys) != 2 {
		t.Errorf("let in: %v", peers.Class.Allow)
	}
	if s := peers.Secondaries; len(s) != 3 || s[0].Key.Name != "common.example." || s[1].Key.Name != "own.example." || s[1].Key.Algorithm != "hmac-sha512." || s[1].Name != "[2001:db8::1]:5353" {
		t.Errorf("waited for: %+v", s)
	}
	// During a rotation both keys are accepted, and the signing key is used for questions and NOTIFY.
	rotates := serveSecrets(map[string]map[string]string{"common": {
		"name": "two.example", "secret": octets, "former-name": "one.example", "former-secret": octets, "former-algorithm": "hmac-sha512",
	}, "broken": {"name": "two.example", "secret": octets, "next-name": "three.example"}})
	peers = must.Get(ReadPeers(of(v1alpha1.TransferProvider{TSIGSecretRef: ref("common"), Secondaries: []v1alpha1.Secondary{{Address: "192.0.2.1"}}}), rotates))(t)
	if got := fmt.Sprint(peers.Class.Allow, peers.Class.Notify); got != "[{[] two.example. false} {[] one.example. false}] [{192.0.2.1:53 two.example. false false false}]" || len(peers.Class.Keys) != 2 || peers.Class.Keys[1].Algorithm != "hmac-sha512." || peers.Secondaries[0].Key.Name != "two.example." {
		t.Errorf("while keys rotate: %s, %+v", got, peers.Secondaries)
	}
	if _, err := ReadPeers(of(v1alpha1.TransferProvider{TSIGSecretRef: ref("broken")}), rotates); err == nil || !strings.Contains(err.Error(), `data["next-secret"]`) {
		t.Errorf("half a key: %v", err)
	}
	// A secondary behind a signer gets no NOTIFY.
	peers, err = ReadPeers(of(v1alpha1.TransferProvider{Secondaries: []v1alpha1.Secondary{
		{Address: "192.0.2.1", Signs: true}, {Address: "192.0.2.2", Signer: "192.0.2.1"}, {Address: "192.0.2.3", Signer: "192.0.2.1", Catalog: v1alpha1.CatalogIgnore},
	}}), get)
	must.Succeed(t, err)
	if reported := fmt.Sprint(peers.Class.Notify); reported != "[{192.0.2.1:53  false false false} {192.0.2.2:53  false true false}]" {
		t.Errorf("told %s", reported)
	}
	if s := peers.Secondaries; !s[0].Signs || s[0].Signer != "" || s[1].Signs || s[1].Signer != "192.0.2.1" || s[2].Signer != "192.0.2.1" {
		t.Errorf("waited for: %+v", s)
	}
	// Without keys peers are identified by address, local addresses only with permission.
	block := v1alpha1.TransferProvider{Secondaries: []v1alpha1.Secondary{{Address: "192.0.2.1"}, {Address: "127.0.0.1:5353"}}}
	local := of(block)
	for _, leave := range []bool{false, true} {
		local.Spec.AllowLocalAddresses = leave
		peers := must.Get(ReadPeers(local, get))(t)
		want := map[bool]string{false: "[{[192.0.2.1/32]  false}]", true: "[{[192.0.2.1/32]  false} {[127.0.0.1/32]  false}]"}[leave]
		if got := fmt.Sprint(peers.Class.Allow); got != want || len(peers.Class.Notify) != strings.Count(want, "/32") || len(peers.Secondaries) != 2 {
			t.Errorf("leave %v: let in %s, told %v", leave, got, peers.Class.Notify)
		}
	}
	for what, test := range map[string]struct {
		block v1alpha1.TransferProvider
		want  string
	}{
		"no Secret":            {v1alpha1.TransferProvider{TSIGSecretRef: ref("none")}, "none"},
		"no value":             {v1alpha1.TransferProvider{TSIGSecretRef: ref("empty")}, `data["secret"]`},
		"no base64":            {v1alpha1.TransferProvider{TSIGSecretRef: ref("odd")}, "base64"},
		"two keys of a name":   {v1alpha1.TransferProvider{TSIGSecretRef: ref("common"), Secondaries: []v1alpha1.Secondary{{Address: "192.0.2.1", TSIGSecretRef: ref("twin")}}}, "transfer.secondaries[0].tsigSecretRef"},
		"no address":           {v1alpha1.TransferProvider{Secondaries: []v1alpha1.Secondary{{Address: "ns.example"}}}, "transfer.secondaries[0].address"},
		"no address to tell":   {v1alpha1.TransferProvider{AlsoNotify: []string{"ns.example"}}, "transfer.alsoNotify[0]"},
		"no name of a catalog": {v1alpha1.TransferProvider{CatalogZone: "a..b."}, "transfer.catalogZone"},
	} {
		if _, err := ReadPeers(of(test.block), get); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
