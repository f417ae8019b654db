// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

const updateSecret = "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="

type updated struct {
	*running
	secrets string
}

func runUpdated(t *testing.T, dir string, args ...string) *updated {
	t.Helper()
	if _, err := rig.Find("nsupdate", "apt-get install bind9-dnsutils"); err != nil {
		rig.SkipMissing(t, err)
	}
	u := &updated{secrets: t.TempDir()}
	u.running = runUp(t, dir, append(args, "--secrets-dir", u.secrets)...)
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "example-org"}, Spec: v1alpha1.ZoneSpec{
		DomainName: "example.org.", NameServers: []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}},
		Delegations: []v1alpha1.DelegationRule{
			{Namespace: "team-a", Records: []v1alpha1.RecordDelegation{{Pattern: "*.apps"}, {Pattern: "apps"}}},
			{Namespace: "dns", Records: []v1alpha1.RecordDelegation{{Pattern: "own"}, {Pattern: "ns1"}, {Pattern: "*.b"}}},
			{Namespace: "team-b", Records: []v1alpha1.RecordDelegation{{Pattern: "*.b"}, {Pattern: "b"}}},
			{Namespaces: []string{"team-a", "team-b"},
				Records: []v1alpha1.RecordDelegation{{Pattern: "_acme-challenge.*", Types: []string{"TXT"}}}},
		},
	}}
	must.Get(u.client.KubizoneV1alpha1().Zones("dns").Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	return u
}

// makeKey returns when the key is served.
func (u *updated) makeKey(namespace, object string, transfer v1alpha1.UpdateTransfer, patterns ...string) rig.TSIGKey {
	u.t.Helper()
	spec := v1alpha1.UpdateKeySpec{Transfer: transfer}
	for _, pattern := range patterns {
		types := []string{"A", "AAAA", "TXT", "CNAME", "DHCID"}
		spec.Records = append(spec.Records, v1alpha1.UpdateKeyRecords{Pattern: pattern, Types: types})
	}
	return u.makeKeyOf(namespace, object, spec)
}

func (u *updated) makeKeyOf(namespace, object string, spec v1alpha1.UpdateKeySpec) rig.TSIGKey {
	u.t.Helper()
	key := rig.TSIGKey{Name: object + "." + namespace + ".", Algorithm: "hmac-sha256", Secret: updateSecret}
	u.writeSecret(namespace, object, key)
	spec.TSIGSecretRef.Name = object
	of := &v1alpha1.UpdateKey{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: object}, Spec: spec}
	must.Get(u.client.KubizoneV1alpha1().UpdateKeys(namespace).Create(u.t.Context(), of, metav1.CreateOptions{}))(u.t)
	u.waitForReason(namespace, object, "Served")
	return key
}

func (u *updated) writeSecret(namespace, object string, key rig.TSIGKey) {
	u.t.Helper()
	dir := filepath.Join(u.secrets, namespace, object)
	must.Succeed(u.t, os.MkdirAll(dir, 0o700))
	for file, text := range map[string]string{"name": key.Name, "algorithm": key.Algorithm, "secret": key.Secret} {
		must.Succeed(u.t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
}

func (u *updated) waitForReason(namespace, object, reason string) {
	u.t.Helper()
	waitUntil(u.t, namespace+"/"+object+" with the reason "+reason, func() bool {
		of := must.Get(u.client.KubizoneV1alpha1().UpdateKeys(namespace).Get(u.t.Context(), object, metav1.GetOptions{}))(u.t)
		return slices.ContainsFunc(of.Status.Conditions, func(c metav1.Condition) bool { return c.Type == "Ready" && c.Reason == reason })
	})
}

var digStatus = regexp.MustCompile(`(?s)status: (\w+).*ANSWER: (\d+)`)

var refusedAs = regexp.MustCompile(`update failed: (\w+)`)

func (u *updated) sendUpdate(key *rig.TSIGKey, lines ...string) string {
	u.t.Helper()
	return u.sendUpdateTo(netip.MustParseAddrPort(u.dns), key, lines...)
}

func (u *updated) sendUpdateTo(server netip.AddrPort, key *rig.TSIGKey, lines ...string) string {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), time.Minute)
	defer cancel()
	message, err := rig.Nsupdate(ctx, server, key, "zone example.org.\n"+strings.Join(lines, "\n")+"\nsend\n")
	if err == nil {
		return "NOERROR"
	}
	if rcode := refusedAs.FindStringSubmatch(message + err.Error()); rcode != nil {
		return rcode[1]
	}
	return message + err.Error()
}

// readRecords returns sorted lines: name in the zone, type, ttl, values.
func (u *updated) readRecords(namespace string) string {
	u.t.Helper()
	list := must.Get(u.client.KubizoneV1alpha1().Records(namespace).List(u.t.Context(), metav1.ListOptions{}))(u.t)
	var lines []string
	for _, r := range list.Items {
		line := strings.TrimSuffix(r.Status.FQDN, ".example.org.") + " " + r.Spec.Type
		if r.Spec.TTL != nil {
			line += fmt.Sprint(" ", *r.Spec.TTL)
		}
		lines = append(lines, line+" "+strings.Join(append(r.Spec.Values, r.Spec.RData), " "))
	}
	slices.Sort(lines)
	return strings.TrimSpace(strings.ReplaceAll(strings.Join(lines, "; "), " ;", ";"))
}

// S13.1, S13.4, S13.5, S13.6, S13.7: nsupdate writes the names that a key may write. Each answered message is
// completely in the zone, and a refused message changes nothing (attack 94).
func TestUpdate_byNsupdate_S13_4(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	u := runUpdated(t, t.TempDir())
	key := u.makeKey("team-a", "dhcp", "", "*.apps.example.org.", "_acme-challenge.*.example.org.")
	other := u.makeKey("team-b", "web", "", "*.example.org.")
	static := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "static"},
		Spec: v1alpha1.RecordSpec{DomainName: "fix.apps.example.org.", Type: "A", RData: "192.0.2.99"}}
	must.Get(u.client.KubizoneV1alpha1().Records("team-a").Create(t.Context(), static, metav1.CreateOptions{}))(t)
	const fix = "fix.apps A 192.0.2.99"
	const dhcid = "AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA="
	for _, step := range []struct {
		by                *rig.TSIGKey
		lines, want, then string
	}{
		{&key, "update add www.apps.example.org 60 A 192.0.2.1", "NOERROR", fix + "; www.apps A 60 192.0.2.1"},
		{&key, "update add www.apps.example.org 60 A 192.0.2.1", "NOERROR", fix + "; www.apps A 60 192.0.2.1"},
		{&key, "update add www.apps.example.org 30 A 192.0.2.2", "NOERROR", fix + "; www.apps A 30 192.0.2.1 192.0.2.2"},
		{&key, "update delete www.apps.example.org A 192.0.2.1", "NOERROR", fix + "; www.apps A 30 192.0.2.2"},
		{&key, "prereq nxdomain www.apps.example.org|update add www.apps.example.org 60 TXT x", "YXDOMAIN",
			fix + "; www.apps A 30 192.0.2.2"},
		{&key, "prereq yxrrset www.apps.example.org A 192.0.2.1|update delete www.apps.example.org", "NXRRSET",
			fix + "; www.apps A 30 192.0.2.2"},
		{&key, "prereq yxrrset www.apps.example.org A 192.0.2.2", "NOERROR", fix + "; www.apps A 30 192.0.2.2"},
		{&key, "prereq nxrrset www.apps.example.org A", "YXRRSET", fix + "; www.apps A 30 192.0.2.2"},
		{&key, "prereq yxdomain new.apps.example.org", "NXDOMAIN", fix + "; www.apps A 30 192.0.2.2"},
		{&key, "update delete www.apps.example.org|update add www.apps.example.org 60 CNAME fix.apps.example.org.", "NOERROR",
			fix + "; www.apps CNAME 60 fix.apps.example.org."},
		// A lease as Kea writes and removes it.
		{&key, "prereq nxdomain h.apps.example.org|update add h.apps.example.org 600 A 192.0.2.20|" +
			"update add h.apps.example.org 600 DHCID " + dhcid, "NOERROR",
			fix + "; h.apps A 600 192.0.2.20; h.apps DHCID 600 " + dhcid + "; www.apps CNAME 60 fix.apps.example.org."},
		{&key, "prereq yxrrset h.apps.example.org DHCID " + dhcid + "|update delete h.apps.example.org A 192.0.2.20", "NOERROR",
			fix + "; h.apps DHCID 600 " + dhcid + "; www.apps CNAME 60 fix.apps.example.org."},
		{&key, "prereq nxrrset h.apps.example.org A|update delete h.apps.example.org", "NOERROR",
			fix + "; www.apps CNAME 60 fix.apps.example.org."},
		{&key, "update delete www.apps.example.org", "NOERROR", fix},
		// Values that no update made.
		{&key, "update delete fix.apps.example.org", "NOERROR", fix},
		{&key, "update delete fix.apps.example.org A", "REFUSED", fix},
		{&key, "update delete fix.apps.example.org A 192.0.2.99", "REFUSED", fix},
		{&key, "update add fix.apps.example.org 60 A 192.0.2.99", "NOERROR", fix},
		// Beyond the key, or beyond the rules of the zone.
		{&key, "update add www.b.example.org 60 A 192.0.2.1", "REFUSED", fix},
		{&key, "update add a.apps.example.org 60 MX 10 mail.example.org.", "REFUSED", fix},
		{&key, "prereq yxdomain ns1.example.org", "REFUSED", fix},
		{&key, "update add good.apps.example.org 60 A 192.0.2.1|update add ns1.example.org 60 A 192.0.2.1", "REFUSED", fix},
		{&key, "update add a.example.net 60 A 192.0.2.1", "NOTZONE", fix},
		{&other, "update add www.apps.example.org 60 A 192.0.2.1", "REFUSED", fix},
		{&other, "prereq yxdomain fix.apps.example.org", "REFUSED", fix},
		{&other, "prereq nxdomain fix.apps.example.org", "REFUSED", fix},
		{nil, "update add www.apps.example.org 60 A 192.0.2.1", "REFUSED", fix},
		// Two tenants share a challenge name, and neither changes the other's value.
		{&key, "update add _acme-challenge.b.example.org 60 TXT a", "NOERROR", `_acme-challenge.b TXT 60 "a"; ` + fix},
		{&other, "update delete _acme-challenge.b.example.org TXT|update add _acme-challenge.b.example.org 60 TXT b", "NOERROR",
			`_acme-challenge.b TXT 60 "a"; ` + fix},
		{&key, "update delete _acme-challenge.b.example.org TXT a", "NOERROR", fix},
	} {
		if got := u.sendUpdate(step.by, strings.Split(step.lines, "|")...); got != step.want {
			t.Errorf("%s: %s, want %s", step.lines, got, step.want)
		}
		if then := u.readRecords("team-a"); then != step.then {
			t.Errorf("%s: team-a has %s, want %s", step.lines, then, step.then)
		}
	}
	answers := u.readMetrics().parseMetrics()
	for _, rcode := range []string{"NOERROR", "YXDOMAIN", "NXDOMAIN", "NXRRSET", "REFUSED"} {
		if answers[`kubizone_primary_updates_total{rcode="`+rcode+`"}`] == 0 {
			t.Errorf("no update is counted by %s", rcode)
		}
	}
	if got, want := u.readRecords("team-b"), `_acme-challenge.b TXT 60 "b"`; got != want {
		t.Errorf("team-b has %s", got)
	}
	waitUntil(t, "the last refusal in the status", func() bool {
		of := must.Get(u.client.KubizoneV1alpha1().UpdateKeys("team-b").Get(t.Context(), "web", metav1.GetOptions{}))(t)
		r := of.Status.LastRefusal
		return of.Status.LastUpdate != nil && r != nil && r.RCode == "REFUSED" && strings.Contains(r.Message, "S10.5")
	})
}

// S13.3: the key name is that of the first use; from then on the Secret's writer controls the key. A suspended key, and
// a key without its Secret, writes nothing.
func TestUpdateKey_followsItsSecret_S13_3(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	u := runUpdated(t, t.TempDir())
	key := u.makeKey("team-a", "dhcp", "", "*.apps.example.org.")
	const line = "update add www.apps.example.org 60 A 192.0.2.1"
	if got := u.sendUpdate(&key, line); got != "NOERROR" {
		t.Fatal(got)
	}
	changed := key
	changed.Secret = "YW5vdGhlciBzZWNyZXQgb2YgbWFueSBvY3RldHMgISE="
	u.writeSecret("team-a", "dhcp", changed)
	waitUntil(t, "the new secret in use", func() bool { return u.sendUpdate(&changed, line) == "NOERROR" })
	if got := u.sendUpdate(&key, line); got != "NOTAUTH" {
		t.Errorf("the former secret: %s", got)
	}
	renamed := changed
	renamed.Name = "other.team-a."
	u.writeSecret("team-a", "dhcp", renamed)
	u.waitForReason("team-a", "dhcp", "KeyNameTaken")
	if got := u.sendUpdate(&renamed, line); got != "NOTAUTH" {
		t.Errorf("another name: %s", got)
	}
	u.writeSecret("team-a", "dhcp", changed)
	u.waitForReason("team-a", "dhcp", "Served")
	keys := u.client.KubizoneV1alpha1().UpdateKeys("team-a")
	must.Get(keys.Patch(t.Context(), "dhcp", types.MergePatchType, []byte(`{"spec":{"suspended":true}}`), metav1.PatchOptions{}))(t)
	u.waitForReason("team-a", "dhcp", "Suspended")
	if got := u.sendUpdate(&changed, line); got != "NOTAUTH" {
		t.Errorf("suspended: %s", got)
	}
	// Another namespace cannot take the name of a key (attack 96).
	must.Get(keys.Patch(t.Context(), "dhcp", types.MergePatchType, []byte(`{"spec":{"suspended":false}}`), metav1.PatchOptions{}))(t)
	u.waitForReason("team-a", "dhcp", "Served")
	u.writeSecret("team-b", "squatter", changed)
	squatter := &v1alpha1.UpdateKey{ObjectMeta: metav1.ObjectMeta{Namespace: "team-b", Name: "squatter"},
		Spec: v1alpha1.UpdateKeySpec{TSIGSecretRef: v1alpha1.UpdateKeySecret{Name: "squatter"},
			Records: []v1alpha1.UpdateKeyRecords{{Pattern: "*.b.example.org."}}}}
	must.Get(u.client.KubizoneV1alpha1().UpdateKeys("team-b").Create(t.Context(), squatter, metav1.CreateOptions{}))(t)
	u.waitForReason("team-b", "squatter", "KeyNameTaken")
	reported := must.Get(u.client.KubizoneV1alpha1().UpdateKeys("team-b").Get(t.Context(), "squatter", metav1.GetOptions{}))(t)
	for _, c := range reported.Status.Conditions {
		if strings.Contains(c.Message, "team-a/") || !strings.Contains(c.Message, "name the key dhcp.team-b.,") {
			t.Errorf("the message names the holder, or not the next step: %s", c.Message)
		}
	}
	// At most 64 keys of a namespace are served (attack 97), the oldest first.
	for i := range 64 {
		more := squatter.DeepCopy()
		more.Name = fmt.Sprintf("more-%02d", i)
		must.Get(u.client.KubizoneV1alpha1().UpdateKeys("team-b").Create(t.Context(), more, metav1.CreateOptions{}))(t)
	}
	waitUntil(t, "one of 65 keys is too many", func() bool {
		many := 0
		for _, of := range must.Get(u.client.KubizoneV1alpha1().UpdateKeys("team-b").List(t.Context(), metav1.ListOptions{}))(t).Items {
			if slices.ContainsFunc(of.Status.Conditions, func(c metav1.Condition) bool { return c.Reason == "QuotaExceeded" }) {
				many++
			}
		}
		return many == 1
	})
	must.Succeed(t, os.RemoveAll(filepath.Join(u.secrets, "team-a", "dhcp")))
	u.waitForReason("team-a", "dhcp", "SecretNotFound")
}

// S13.3, S11.17: team-b tries to take the name of team-a's key: by an older UpdateKey whose Secret comes now (attack
// 102), by the key of a server of its Bind9Cluster (attack 103), and by an UpdateKey before team-a's (attack 104).
// Team-b gets the reason, and team-a's updates continue.
func TestUpdateKey_nameInUseIsNotTaken_S13_3(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	u := runUpdated(t, t.TempDir())
	const line = "update add www.apps.example.org 60 A 192.0.2.1"
	api := u.client.KubizoneV1alpha1()
	sleepers := func(namespace string, objects ...string) {
		for _, object := range objects {
			of := &v1alpha1.UpdateKey{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: object}, Spec: v1alpha1.UpdateKeySpec{
				TSIGSecretRef: v1alpha1.UpdateKeySecret{Name: object}, Records: []v1alpha1.UpdateKeyRecords{{Pattern: "*.example.org."}}}}
			must.Get(api.UpdateKeys(namespace).Create(t.Context(), of, metav1.CreateOptions{}))(t)
		}
	}
	sleepers("team-b", "sleeper", "early")
	early := rig.TSIGKey{Name: "acme.team-a.", Algorithm: "hmac-sha256", Secret: "YW5vdGhlciBzZWNyZXQgb2YgbWFueSBvY3RldHMgISE="}
	u.writeSecret("team-b", "early", early)
	u.waitForReason("team-b", "early", "KeyNameTaken")

	free := rig.TSIGKey{Name: "ddns-key.", Algorithm: "hmac-sha256", Secret: updateSecret}
	u.writeSecret("team-a", "ddns", free)
	sleepers("team-a", "ddns")
	u.waitForReason("team-a", "ddns", "Served")
	keys := []rig.TSIGKey{free, u.makeKey("team-a", "acme", "", "*.apps.example.org.")}
	updateOn := func(when string) {
		t.Helper()
		for _, key := range keys {
			if got := u.sendUpdate(&key, line); got != "NOERROR" {
				t.Errorf("%s: an update by %s: %s", when, key.Name, got)
			}
		}
	}
	updateOn("before")
	foreign := early
	foreign.Name = free.Name
	u.writeSecret("team-b", "sleeper", foreign)
	u.waitForReason("team-b", "sleeper", "KeyNameTaken")
	reported := must.Get(api.UpdateKeys("team-b").Get(t.Context(), "sleeper", metav1.GetOptions{}))(t)
	if why := reported.Status.Conditions[0].Message; strings.Contains(why, "team-a") { // attack 96
		t.Errorf("the message names the holder: %s", why)
	}
	updateOn("the Secret of an older UpdateKey has come")

	servers := u.client.Bind9V1alpha1()
	must.Get(servers.Bind9Clusters("team-b").Create(t.Context(), &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge"}},
		metav1.CreateOptions{}))(t)
	for i, key := range keys {
		object := fmt.Sprint("vm-", i)
		foreign.Name = key.Name
		u.writeSecret("team-b", object, foreign)
		instance := &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Name: object}, Spec: bind9.Bind9InstanceSpec{
			Role: bind9.RoleSecondary, ClusterRef: &bind9.ClusterReference{Name: "edge"}}}
		instance.Spec.External = &bind9.ExternalServer{Address: "192.0.2.9", AgentURL: "https://192.0.2.9:8443",
			TokenSecretRef: &bind9.SecretKeyReference{Name: "token", Key: "token"}, TSIGSecretName: object}
		must.Get(servers.Bind9Instances("team-b").Create(t.Context(), instance, metav1.CreateOptions{}))(t)
	}
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Spec: v1alpha1.ZoneSpec{DomainName: "theirs.example.",
		DNSClassRefs: []v1alpha1.DNSClassReference{{Kind: v1alpha1.KindBind9Cluster, Name: "edge"}},
		NameServers:  []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}}}}
	must.Get(api.Zones("team-b").Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	waitUntil(t, "rows that say how to name the keys", func() bool {
		reported := 0
		for _, one := range must.Get(api.Deliveries("team-b").List(t.Context(), metav1.ListOptions{}))(t).Items {
			for _, row := range one.Status.Servers {
				if strings.Contains(row.Message, "is named LABEL.bind9.team-b.") {
					reported++
				}
			}
		}
		return reported == len(keys)
	})
	updateOn("a class has servers with keys of the names")
	u.waitForReason("team-a", "ddns", "Served")
	u.waitForReason("team-a", "acme", "Served")
}

// S13.8: a key with transfer Own gets only the values that updates made for its namespace and that the key may write
// (attack 94).
func TestUpdateKey_transfersItsShare_S13_8(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	u := runUpdated(t, t.TempDir())
	key := u.makeKey("team-a", "dns", v1alpha1.UpdateTransferOwn, "*.apps.example.org.")
	narrow := u.makeKey("team-a", "narrow", v1alpha1.UpdateTransferOwn, "only.apps.example.org.")
	none := u.makeKey("team-b", "web", "", "*.b.example.org.")
	for _, address := range []string{"192.0.2.1", "192.0.2.2"} {
		if got := u.sendUpdate(&key, "update add www.apps.example.org 60 A "+address); got != "NOERROR" {
			t.Fatal(got)
		}
	}
	knsupdate := must.Get(rig.Find("knsupdate", "apt-get install knot-dnsutils"))(t)
	command := exec.CommandContext(t.Context(), knsupdate, "-v", "-y", key.Algorithm+":"+key.Name+":"+key.Secret)
	at := netip.MustParseAddrPort(u.dns)
	command.Stdin = strings.NewReader(fmt.Sprintf("server %s %d\nzone example.org.\nadd knot.apps.example.org. 60 TXT k\nsend\n",
		at.Addr(), at.Port()))
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("knsupdate: %v\n%s", err, output)
	}
	u.makeRecord("dns-own", "own.example.org.", "192.0.2.50")
	u.makeRecord("dns-secret", "secret.b.example.org.", "192.0.2.51")
	u.makeRecord("dns-hidden", "hid.deep.b.example.org.", "192.0.2.52")
	vault := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "vault"},
		Spec: v1alpha1.RecordSpec{DomainName: "_vault.x.b.example.org.", Type: "TXT", RData: "private"}}
	must.Get(u.client.KubizoneV1alpha1().Records("dns").Create(t.Context(), vault, metav1.CreateOptions{}))(t)
	private := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "private"},
		Spec: v1alpha1.ZoneSpec{DomainName: "private.example.", NameServers: []v1alpha1.NameServer{{Name: "ns.example.net."}}}}
	must.Get(u.client.KubizoneV1alpha1().Zones("dns").Create(t.Context(), private, metav1.CreateOptions{}))(t)
	transfer := func(key rig.TSIGKey) string {
		program := must.Get(rig.Find("dig", "apt-get install bind9-dnsutils"))(t)
		dig := exec.CommandContext(t.Context(), program, "@"+at.Addr().String(), "-p", fmt.Sprint(at.Port()), "-y",
			key.Algorithm+":"+key.Name+":"+key.Secret, "example.org.", "AXFR", "+noall", "+answer")
		output, _ := dig.CombinedOutput()
		var lines []string
		for line := range strings.Lines(string(output)) {
			f := strings.Fields(line)
			if len(f) > 4 && f[3] != "SOA" && f[3] != "TSIG" && !strings.HasPrefix(line, ";") {
				lines = append(lines, strings.TrimSuffix(f[0], ".example.org.")+" "+f[3]+" "+f[4])
			}
		}
		slices.Sort(lines)
		return strings.Join(lines, "; ")
	}
	if got, want := transfer(key), `knot.apps TXT "k"; www.apps A 192.0.2.1; www.apps A 192.0.2.2`; got != want {
		t.Errorf("its share: %s, want %s", got, want)
	}
	if got := transfer(narrow) + transfer(none); got != "" {
		t.Errorf("keys without a share get %s", got)
	}
	if got := u.sendUpdate(&none, "update add alias.b.example.org 60 CNAME www.apps.example.org."); got != "NOERROR" {
		t.Fatal(got)
	}
	// However wide its patterns, a key reads only names that its namespace may write: nothing of other tenants below
	// its names, nor at the target of its CNAME (F11b).
	nosy := u.makeKey("team-b", "nosy", v1alpha1.UpdateTransferOwn, "*.example.org.", "*.")
	dig := must.Get(rig.Find("dig", "apt-get install bind9-dnsutils"))(t)
	ask := func(key rig.TSIGKey, question ...string) string {
		args := append([]string{"@" + at.Addr().String(), "-p", fmt.Sprint(at.Port()), "-y",
			key.Algorithm + ":" + key.Name + ":" + key.Secret}, question...)
		output, _ := exec.CommandContext(t.Context(), dig, args...).CombinedOutput()
		if status := digStatus.FindStringSubmatch(string(output)); status != nil {
			return status[1] + " " + status[2]
		}
		return string(output)
	}
	for question, want := range map[string]string{
		"www.apps.example.org. A": "REFUSED 0", "absent.apps.example.org. A": "REFUSED 0", "own.example.org. A": "REFUSED 0",
		"secret.b.example.org. A": "REFUSED 0", "hid.deep.b.example.org. A": "REFUSED 0",
		"deep.b.example.org. A": "REFUSED 0", "alias.b.example.org. A": "NOERROR 1",
		"_vault.x.b.example.org. TXT": "REFUSED 0", "y._vault.x.b.example.org. A": "REFUSED 0",
		"x.b.example.org. A": "NXDOMAIN 0", "example.org. SOA": "NOERROR 1", "www.apps.example.org. SOA": "NOERROR 0",
		"private.example. SOA": "REFUSED 0", "www.private.example. A": "REFUSED 0", "private.example. NS": "REFUSED 0",
	} {
		if got := ask(nosy, strings.Fields(question)...); got != want {
			t.Errorf("%s: %s, want %s", question, got, want)
		}
	}
	if got := ask(key, "www.apps.example.org.", "A"); got != "NOERROR 2" {
		t.Errorf("its own name: %s", got)
	}
}

// S13.4, S13.15: 64 clients raise 8 counters, each by a message that requires the value read before; without an answer,
// a client repeats the octets. Each counter equals the number of NOERRORs. The long form takes ten minutes.
func TestUpdate_isCarriedOutOnce_S13_4(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	u := runUpdated(t, t.TempDir())
	const clients, counters = maxNumber + 1, 8
	var keys []rig.TSIGKey
	for i := range 2 {
		keys = append(keys, u.makeKey("team-a", fmt.Sprint("one-", i), "", "*.apps.example.org."))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	if rig.Long() {
		ctx, cancel = context.WithTimeout(t.Context(), 10*time.Minute)
	}
	defer cancel()
	var raised, unanswered [counters]atomic.Int64
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			c := updateClient{t: t, key: keys[i%len(keys)], server: u.dns, number: uint16(i)}
			at, owner := i%counters, fmt.Sprintf("c%d.apps.example.org.", i%counters)
			for ctx.Err() == nil {
				switch c.raiseCounter(owner) {
				case mdns.RcodeSuccess:
					raised[at].Add(1)
				case mdns.RcodeNXRrset, mdns.RcodeYXRrset: // another client was first
				default: // SERVFAIL, or no answer: the outcome is unknown
					unanswered[at].Add(1)
				}
			}
		})
	}
	all.Wait()
	c := updateClient{t: t, key: keys[0], server: u.dns}
	total := int64(0)
	for i := range counters {
		is, _ := c.readCounter(fmt.Sprintf("c%d.apps.example.org.", i))
		least := raised[i].Load()
		total += least
		if is < least || is > least+unanswered[i].Load() {
			t.Errorf("counter %d is %d: %d messages were answered NOERROR, %d not", i, is, least, unanswered[i].Load())
		}
	}
	t.Logf("%d messages carried out", total)
	if total < counters {
		t.Errorf("%d messages carried out", total)
	}
}

// updateClient signs messages for example.org with one key. Clients have different numbers: of equal octets, the server
// would take the second for a repetition.
type updateClient struct {
	t      *testing.T
	key    rig.TSIGKey
	server string
	number uint16 // at most maxNumber
}

const maxNumber = 1<<6 - 1

// exchangeMessage sends the same octets up to three times; nil without an answer.
func (c updateClient) exchangeMessage(m *mdns.Msg) *mdns.Msg {
	client := &mdns.Client{Timeout: 10 * time.Second, TsigSecret: map[string]string{c.key.Name: c.key.Secret}}
	m.SetTsig(c.key.Name, mdns.HmacSHA256, 300, time.Now().Unix())
	for range 3 {
		if answer, _, err := client.ExchangeContext(c.t.Context(), m.Copy(), c.server); err == nil {
			return answer
		}
	}
	return nil
}

func (c updateClient) readCounter(owner string) (value int64, is bool) {
	m := new(mdns.Msg)
	m.SetQuestion(owner, mdns.TypeTXT)
	if answer := c.exchangeMessage(m); answer != nil && len(answer.Answer) == 1 {
		_, err := fmt.Sscan(answer.Answer[0].(*mdns.TXT).Txt[0], &value)
		return value, err == nil
	}
	return 0, false
}

// raiseCounter returns -1 without an answer.
func (c updateClient) raiseCounter(owner string) int {
	text := func(n int64) []mdns.RR {
		return []mdns.RR{must.Get(mdns.NewRR(fmt.Sprintf(`%s 60 TXT "%d"`, owner, n)))(c.t)}
	}
	value, is := c.readCounter(owner)
	m := new(mdns.Msg)
	m.SetUpdate("example.org.")
	m.Id = m.Id&^maxNumber | c.number
	if is {
		m.Used(text(value))
		m.RemoveRRset(text(value))
	} else {
		m.RRsetNotUsed(text(0))
	}
	m.Insert(text(value + 1))
	if answer := c.exchangeMessage(m); answer != nil {
		return answer.Rcode
	}
	return -1
}

// An update that arrives right after its zone was created is carried out, although the primary's view does not yet have
// the zone (S13.4).
func TestUpdate_reachesAZoneThatWasJustMade_S13_4(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	u := runUpdated(t, t.TempDir())
	var patterns, apexes []string
	for i := range 16 {
		apexes = append(apexes, fmt.Sprintf("new-%d.example.net.", i))
		patterns = append(patterns, "*."+apexes[i])
	}
	c := updateClient{t: t, key: u.makeKey("team-a", "early", "", patterns...), server: u.dns}
	for i, apex := range apexes {
		zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: fmt.Sprint("new-", i)}, Spec: v1alpha1.ZoneSpec{
			DomainName: apex, NameServers: []v1alpha1.NameServer{{Name: "ns.example.com."}},
			Delegations: []v1alpha1.DelegationRule{{Namespace: "team-a", Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}},
		}}
		m := new(mdns.Msg).SetUpdate(apex)
		m.Insert([]mdns.RR{must.Get(mdns.NewRR("www." + apex + " 60 A 192.0.2.1"))(t)})
		must.Get(u.client.KubizoneV1alpha1().Zones("team-a").Create(t.Context(), zone, metav1.CreateOptions{}))(t)
		if answer := c.exchangeMessage(m); answer == nil || answer.Rcode != mdns.RcodeSuccess {
			t.Errorf("%s: %v", apex, answer)
		}
	}
}

func (u *updated) exchangeOctets(wire []byte) *mdns.Msg {
	u.t.Helper()
	conn := must.Get(net.Dial("udp", u.dns))(u.t)
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	must.Get(conn.Write(wire))(u.t)
	buf := make([]byte, 4096)
	n := must.Get(conn.Read(buf))(u.t)
	m := new(mdns.Msg)
	must.Succeed(u.t, m.Unpack(buf[:n]))
	return m
}

func (c updateClient) replaceText(owner, text string) []byte {
	rr := []mdns.RR{must.Get(mdns.NewRR(fmt.Sprintf("%s 60 TXT %s", owner, text)))(c.t)}
	m := new(mdns.Msg).SetUpdate("example.org.")
	m.RemoveRRset(rr)
	m.Insert(rr)
	m.SetTsig(c.key.Name, mdns.HmacSHA256, 300, time.Now().Unix())
	wire, _, err := mdns.TsigGenerate(m, c.key.Secret, "", false)
	must.Succeed(c.t, err)
	return wire
}

// An attacker records a signed update and repeats the message after a later update. The copy gets the answer of the
// first, and changes nothing. After a restart the primary no longer remembers earlier messages, so every message signed
// before the start is refused with BADTIME (S13.15, attack 95).
func TestUpdate_recordedMessagesChangeNothing_S13_15(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	dir := t.TempDir()
	u := runUpdated(t, dir)
	c := updateClient{t: t, key: u.makeKey("team-a", "dhcp", "", "*.apps.example.org."), server: u.dns}
	const owner = "x.apps.example.org."
	first, second := c.replaceText(owner, "1"), c.replaceText(owner, "2")
	for what, wire := range [][]byte{first, second, first} {
		if m := u.exchangeOctets(wire); m.Rcode != mdns.RcodeSuccess {
			t.Errorf("%d: %v", what, m)
		}
	}
	const want = `x.apps TXT 60 "2"`
	if got := u.readRecords("team-a"); got != want {
		t.Errorf("after the replay: %s", got)
	}
	written := must.Get(u.client.KubizoneV1alpha1().Records("team-a").List(t.Context(), metav1.ListOptions{}))(t).Items[0]
	if id := written.Annotations[v1alpha1.AnnotationUpdateID]; len(id) != 32 {
		t.Errorf("the Record has the id %q of its message", id)
	}
	u.Kill()
	again := &updated{running: runUp(t, dir, "--secrets-dir", u.secrets), secrets: u.secrets}
	waitUntil(t, "the key is taken after the restart", func() bool {
		m := again.exchangeOctets(c.replaceText("y.apps.example.org.", "3"))
		return m.Rcode == mdns.RcodeSuccess
	})
	if m := again.exchangeOctets(first); m.Rcode != mdns.RcodeNotAuth || m.IsTsig().Error != mdns.RcodeBadTime {
		t.Errorf("after the restart: %v", m)
	}
	if got := again.readRecords("team-a"); !strings.Contains(got, want) {
		t.Errorf("after the replay to the next process: %s", got)
	}
}

// startUpdatablePrimary NAME ZONE DIR starts BIND as primary of a zone that accepts dynamic updates, and stores the
// port in the variable. DIR gets the key as files of a Secret (name, algorithm, secret); update.key is BIND's form.
func startUpdatablePrimary(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: updatable NAME ZONE DIR")
	}
	key := rig.TSIGKey{Name: "update.example", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
	bind, err := rig.StartBIND(context.Background(), rig.BINDConfig{Keys: []rig.TSIGKey{key}, Primaries: []rig.PrimaryZone{{
		Zone: args[1], UpdateKey: key.Name,
		Text: "@ 300 IN SOA ns.example.net. hostmaster.example.net. 1 7200 900 1209600 300\n@ 300 IN NS ns.example.net.\nforeign 300 IN A 192.0.2.200\n",
	}}})
	ts.Check(err)
	s := storyOf(ts)
	s.secondaries = append(s.secondaries, bind)
	ts.Setenv(args[0], strconv.Itoa(int(bind.Addr.Port())))
	dir := ts.MkAbs(args[2])
	ts.Check(os.MkdirAll(dir, 0o755))
	for name, text := range map[string]string{
		filepath.Join(dir, "name"): key.Name, filepath.Join(dir, "algorithm"): key.Algorithm, filepath.Join(dir, "secret"): key.Secret,
		ts.MkAbs("update.key"): key.Statement(),
	} {
		ts.Check(os.WriteFile(name, []byte(text), 0o600))
	}
}
