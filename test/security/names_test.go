// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// contests is the number of names claimed by two clients at once, rounds the number of claims of each.
const contests, rounds = 20, 10

func listContested() (names []string) {
	for i := range contests {
		names = append(names, fmt.Sprintf("contest-%d.example", i))
	}
	return append(names, "loud.example")
}

func (t *tenant) claimZone(ctx context.Context, name, domain string) error {
	_, err := t.zones().Create(ctx, makeZone(t.namespace, name, domain), metav1.CreateOptions{})
	return err
}

func (t *tenant) putRecord(ctx context.Context, name, domain, kind string, values ...string) error {
	_, err := t.records().Create(ctx, makeRecord(t.namespace, name, domain, kind, values...), metav1.CreateOptions{})
	return err
}

// 1: S3.1, S1.8.
func zoneOfAnother(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	expectRefusal(t, "mallory claims victim.example.", a.tenants[mallory].claimZone(ctx, "mine", "victim.example."), forbidden, conflict,
		invalid)
	expectRefusal(t, "and so does the platform, who may establish", a.tenants[platform].claimZone(ctx, "mine", "victim.example."),
		forbidden, conflict, invalid)
}

// 2: S3.3.
func parentOfAnother(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	for i, domain := range []string{"example.", "uk.", "co.uk.", "."} {
		expectRefusal(t, domain, a.tenants[mallory].claimZone(ctx, fmt.Sprintf("parent-%d", i), domain), forbidden)
	}
}

// 74: S3.3. A right by `verbs: ["*"]` on zones is not the right to establish.
func establishByEveryVerb(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	client := must.Get(kubernetes.NewForConfig(a.tenants[mallory].config))(t)
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: mallory, Verb: "establish", Group: "kubi.zone", Resource: "zones"},
	}}, metav1.CreateOptions{})
	if err != nil || !review.Status.Allowed {
		t.Fatalf("%s has no Role with all verbs on zones: %v", mallory, err)
	}
	err = a.tenants[mallory].claimZone(ctx, "everything", "everything.example.")
	expectRefusal(t, "everything.example.", err, forbidden)
	if !strings.Contains(fmt.Sprint(err), "--resource=zones.kubi.zone/establish --resource-name=everything.example") {
		t.Errorf("the refusal says no way out: %v", err)
	}
}

// 76: S1.8, S2.3, S3.1. A zoneRef gets the same answer for an existing and a missing zone, in a dry run or not, on
// creation and on change.
func privateZones(t *testing.T, a *arena) {
	ctx, them := within(t, waitTimeout), a.tenants[mallory]
	answer := func(target, view string) (messages []string) {
		ref := &v1alpha1.ZoneReference{Namespace: victim, Name: target}
		for _, dry := range [][]string{{metav1.DryRunAll}, nil} {
			r := makeRecord(mallory, "guess", "x", "A", "192.0.2.1")
			r.Spec.ZoneRef, r.Spec.View = ref, view
			z := makeZone(mallory, "guess", "x")
			z.Spec.ZoneRef, z.Spec.View = ref, view
			them.warnings.takeWarnings()
			made, err := them.records().Create(ctx, r, metav1.CreateOptions{DryRun: dry})
			messages = append(messages, fmt.Sprint(err, made.Status.FQDN, made.Status.View, made.Status.ZoneRef,
				describeConditions(made.Status.Conditions)))
			child, err := them.zones().Create(ctx, z, metav1.CreateOptions{DryRun: dry})
			messages = append(messages, fmt.Sprint(err, child.Status.FQDN, child.Status.ParentRef,
				describeConditions(child.Status.Conditions)))
			messages = append(messages, them.warnings.takeWarnings()...)
		}
		changed, err := them.records().Patch(ctx, "guess", types.MergePatchType, []byte(`{"spec":{"domainName":"y"}}`), metav1.PatchOptions{})
		messages = append(messages, fmt.Sprint(err, changed.Status.FQDN, describeConditions(changed.Status.Conditions)))
		must.Succeed(t, errors.Join(them.records().Delete(ctx, "guess", metav1.DeleteOptions{}), them.zones().Delete(ctx, "guess",
			metav1.DeleteOptions{})))
		for i := range messages {
			messages[i] = strings.ReplaceAll(messages[i], target, "TARGET")
		}
		return messages
	}
	const there, nowhere = "quietvictim-zone", "no-such-zone"
	for _, view := range []string{"", "inside"} {
		if is, isNot := answer(there, view), answer(nowhere, view); !slices.Equal(is, isNot) {
			t.Errorf("view %q: a zone that is there\n%s\nand one that is not\n%s", view, strings.Join(is, "\n"), strings.Join(isNot, "\n"))
		}
	}
}

func describeConditions(conditions []metav1.Condition) (messages []string) {
	for _, c := range conditions {
		messages = append(messages, fmt.Sprint(c.Type, c.Status, c.Reason, c.Message))
	}
	return messages
}

// 3: S3.1.
func childWithoutDelegation(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	for i, domain := range []string{"sub.victim.example.", "www.victim.example.", "x.y.shared.example.", "team.shared.example."} {
		expectRefusal(t, domain, a.tenants[mallory].claimZone(ctx, fmt.Sprintf("child-%d", i), domain), forbidden)
	}
}

// 4: S3.1, S6.8. Two tenants at two servers: exactly one of each pair of claims succeeds, no matter which tenant held
// the name before.
func twoClaims(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	second := a.startBeside(ctx, t)
	at := func(server *kuberig.Server) [2]*tenant {
		return [2]*tenant{a.tenants[mallory].tenantAt(t, server), a.tenants[victim].tenantAt(t, server)}
	}
	there, others := at(a.server), at(second)
	there[1], others[1] = others[1], there[1]
	var all sync.WaitGroup
	for i := range contests {
		all.Go(func() { contestName(ctx, t, fmt.Sprintf("contest-%d", i), there, others) })
	}
	all.Wait()
	have := map[string]int{}
	for _, z := range must.Get(a.admin.Zones("").List(ctx, metav1.ListOptions{}))(t).Items {
		have[z.Spec.DomainName]++
	}
	for i := range contests {
		if domain := fmt.Sprintf("contest-%d.example.", i); have[domain] != 1 {
			t.Errorf("%s is %d zones", domain, have[domain])
		}
	}
}

// In contestName, the winner of each claim deletes the zone. Both servers write the last zone. A tenant at one server
// in claimants is at the other in others.
func contestName(ctx context.Context, t *testing.T, name string, claimants, others [2]*tenant) {
	domain, last := name+".example.", int64(0)
	for round := range rounds {
		var made [2]*v1alpha1.Zone
		var errs [2]error
		var both sync.WaitGroup
		for n, who := range claimants {
			both.Go(func() {
				made[n], errs[n] = who.zones().Create(ctx, makeZone(who.namespace, name, domain, makeRule(who.namespace, nil, "*")),
					metav1.CreateOptions{})
			})
		}
		both.Wait()
		won := slices.IndexFunc(errs[:], func(err error) bool { return err == nil })
		if won < 0 {
			t.Errorf("%s: nobody has it: %v", domain, errs)
			return
		}
		refusedName(t, domain+" a second time", errs[1-won], metav1.CauseTypeFieldValueDuplicate)
		serial := made[won].Status.Serial
		if serial <= last {
			t.Errorf("%s begins with serial %d after one with %d", domain, serial, last)
		}
		last = serial
		if round == rounds-1 {
			oneLine(ctx, t, name, serial, claimants[won], others[won])
		} else if err := claimants[won].zones().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("%s: %v", domain, err)
			return
		}
	}
}

// oneLine: writes of a zone's owner through two servers at once are sequential changes, and each answer has its own
// serial.
func oneLine(ctx context.Context, t *testing.T, name string, since int64, owner, other *tenant) {
	const writes = 10
	var answered [writes]int64
	var all sync.WaitGroup
	for i := range writes {
		all.Go(func() {
			r := makeRecord(owner.namespace, fmt.Sprintf("%s-%d", name, i), fmt.Sprintf("r%d.%s.example.", i, name), "A", "192.0.2.4")
			have, err := []*tenant{owner, other}[i%2].records().Create(ctx, r, metav1.CreateOptions{})
			if err != nil {
				t.Errorf("%s: %v", r.Name, err)
				return
			}
			answered[i] = have.Status.Serial
		})
	}
	all.Wait()
	text, err := other.RESTClient().Get().Namespace(owner.namespace).Resource("zones").Name(name).SubResource("changes").Param("since", fmt.Sprint(since)).DoRaw(ctx)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	var journal v1alpha1.ZoneChanges
	if err := json.Unmarshal(text, &journal); err != nil {
		t.Errorf("%s: %v: %s", name, err, text)
		return
	}
	var line []int64
	for _, change := range journal.Changes {
		if change.From != since || change.To <= since {
			t.Errorf("%s: from serial %d to %d after %d", name, change.From, change.To, since)
		}
		since = change.To
		line = append(line, since)
	}
	slices.Sort(answered[:])
	if !slices.Equal(line, answered[:]) {
		t.Errorf("%s: the journal has serials %v, the answers said %v", name, line, answered)
	}
}

// 5: S3.3, S6.8, S8.2. There are no tombstones: a zone holds its name until removed. Then any tenant that may
// establish can claim the name, and the next zone continues the serials.
func claimAfterDeletion(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	owner, next := a.tenants[victim], a.tenants[platform]
	z := makeZone(victim, "quietvictim-gone", "gone.example.")
	z.Finalizers = []string{"tenant.test/later"}
	first := must.Get(owner.zones().Create(ctx, z, metav1.CreateOptions{}))(t)
	refusedName(t, "the name of a zone", next.claimZone(ctx, "gone", "gone.example."), metav1.CauseTypeFieldValueDuplicate)
	must.Succeed(t, owner.zones().Delete(ctx, z.Name, metav1.DeleteOptions{}))
	refusedName(t, "the name of a zone that is being deleted", next.claimZone(ctx, "gone", "gone.example."),
		metav1.CauseTypeFieldValueDuplicate)
	must.Get(owner.zones().Patch(ctx, z.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}))(t)
	expectRefusal(t, "the name right after, without establish", a.tenants[mallory].claimZone(ctx, "gone", "gone.example."), forbidden)
	second, err := next.zones().Create(ctx, makeZone(platform, "gone", "gone.example."), metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("the name right after, with establish: %v", err)
	}
	if second.Status.Serial <= first.Status.Serial {
		t.Errorf("serial %d comes after %d", second.Status.Serial, first.Status.Serial)
	}
}

// spelling is a text and its fault as a zone's name: a duplicate of the victim's name, or an invalid name.
type spelling struct {
	text  string
	cause metav1.CauseType
}

const taken, noName = metav1.CauseTypeFieldValueDuplicate, metav1.CauseTypeFieldValueInvalid

// meanTheSame: each spelling is the victim's zone or invalid. The platform may establish any free name, and a record
// outside of all zones is stored (S2.3), so another name would be allowed.
func (a *arena) meanTheSame(t *testing.T, texts ...spelling) {
	t.Helper()
	ctx := within(t, waitTimeout)
	for i, x := range texts {
		name := fmt.Sprintf("spelled-%d", i)
		refusedName(t, fmt.Sprintf("zone %+q", x.text), a.tenants[platform].claimZone(ctx, name, x.text), x.cause)
		what, err := fmt.Sprintf("record below %+q", x.text), a.tenants[mallory].putRecord(ctx, name, "new."+x.text, "A", "192.0.2.66")
		if x.cause == taken {
			expectRefusal(t, what, err, forbidden)
		} else {
			refusedName(t, what, err, x.cause)
		}
	}
}

// 6: S1.1, S1.2: judged in canonical form.
func trySpellings(t *testing.T, a *arena) {
	a.meanTheSame(t, spelling{"VICTIM.example.", taken}, spelling{"Victim.EXAMPLE.", taken},
		spelling{`\118ictim.example.`, noName}, spelling{`\v\i\c\t\i\m.example.`, noName}, spelling{"victim.example..", noName}, spelling{".victim.example.", noName}, spelling{"victim.example", noName})
}

// 7: S1.2: U-labels are judged after mapping.
func foreignScripts(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	// Fullwidth, soft hyphen; U+3002 and U+FF0E, which count as dots; a misplaced joiner, false A-labels, a mark
	// without a letter, right to left.
	a.meanTheSame(t, spelling{"ｖictim.example.", taken}, spelling{"vi\u00adctim.example.", taken}, spelling{"victim。example.", noName}, spelling{"victim．example.", noName},
		spelling{"victim\u200d.example.", noName}, spelling{"xn--.example.", noName}, spelling{"xn--victim-.example.", noName}, spelling{"xn--a\u0301.example.", noName},
		spelling{"\u0301victim.example.", noName}, spelling{"victim\u202eelpmaxe.", noName})
	// A name that only looks like the victim's is different, and granted in ASCII form.
	for i, label := range []string{"vi\u0441tim", "e\u0301", "\u00e9"} {
		name := fmt.Sprintf("label-%d", i)
		domain := label + fmt.Sprint(i) + ".team.shared.example."
		if err := a.tenants[mallory].putRecord(ctx, name, domain, "A", "192.0.2.7"); err != nil {
			t.Errorf("%+q: %v", domain, err)
			continue
		}
		have := must.Get(a.tenants[mallory].records().Get(ctx, name, metav1.GetOptions{}))(t)
		if !strings.HasPrefix(have.Status.FQDN, "xn--") || strings.ContainsFunc(have.Status.FQDN, func(r rune) bool { return r > 0x7e }) {
			t.Errorf("%+q is %q in DNS", domain, have.Status.FQDN)
		}
	}
}

// 8: S1.1, S1.3. Below "team", mallory may have records and zones, so only the broken name is a reason for refusal.
func brokenNames(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	them := a.tenants[mallory]
	octets := func(n int) string { // on the wire: each label after its length, and the root at the end
		domain := strings.Repeat(strings.Repeat("a", 63)+".", 3)
		return domain + strings.Repeat("a", n-len(domain)-len(".team.shared.example.")-1) + ".team.shared.example."
	}
	if err := them.putRecord(ctx, "longest", octets(255), "A", "192.0.2.8"); err != nil {
		t.Errorf("255 octets: %v", err)
	}
	if err := them.claimZone(ctx, "whole", strings.Repeat("a", 63)+".team.shared.example."); err != nil {
		t.Errorf("a zone, with a label of 63 octets: %v", err)
	}
	for what, domain := range map[string]string{
		"a label of 64 octets": strings.Repeat("a", 64) + ".team.shared.example.",
		"256 octets":           octets(256),
		"an empty label":       "a..team.shared.example.",
		"nothing":              "",
		"NUL":                  "a\x00b.team.shared.example.",
		"escaped NUL":          `a\000b.team.shared.example.`,
		"* inside":             "a.*.team.shared.example.",
		"* as a part":          "a*b.team.shared.example.",
		"a space":              "a b.team.shared.example.",
		"an escape beyond 255": `\256.team.shared.example.`,
		"an unfinished escape": `team.shared.example\`,
		"a newline":            "a\nb.team.shared.example.",
	} {
		cause := noName
		if domain == "" {
			cause = metav1.CauseTypeFieldValueRequired
		}
		refusedName(t, what, them.putRecord(ctx, "broken", domain, "A", "192.0.2.8"), cause)
		refusedName(t, "zone: "+what, them.claimZone(ctx, "broken", domain), cause)
	}
}

// 9: S4.15. The delegation of the zone "kids" exists; so does the victim's record in it.
func longerZone(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	expectRefusal(t, "a zone over others' records", a.tenants[mallory].claimZone(ctx, "kids", "kids.shared.example."), forbidden)
	a.expectHeld(ctx, t, "quietvictim-kid", platform)
}

func (a *arena) expectHeld(ctx context.Context, t *testing.T, name, namespace string) {
	t.Helper()
	have := must.Get(a.tenants[victim].records().Get(ctx, name, metav1.GetOptions{}))(t)
	if have.Status.ZoneRef == nil || have.Status.ZoneRef.Namespace != namespace || !meta.IsStatusConditionTrue(have.Status.Conditions, v1alpha1.ConditionAdopted) {
		t.Errorf("%s is in %v: %v", name, have.Status.ZoneRef, have.Status.Conditions)
	}
}

// 10: S2.2, S4.8.
func recordInForeignZone(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	for i, domain := range []string{"www.victim.example.", "new.victim.example.", "victim.example.", "shop.shared.example.", "new.shared.example.", "shared.example.", "team.kids.shared.example."} {
		expectRefusal(t, domain, a.tenants[mallory].putRecord(ctx, fmt.Sprintf("foreign-%d", i), domain, "A", "192.0.2.66"), forbidden)
	}
	// By reference, the record is stored in no zone, as if the zone did not exist (S2.3).
	r := makeRecord(mallory, "by-reference", "new", "A", "192.0.2.66")
	r.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: victim, Name: "quietvictim-zone"}
	stored, err := a.tenants[mallory].records().Create(ctx, r, metav1.CreateOptions{})
	if adopted := meta.FindStatusCondition(stored.Status.Conditions, v1alpha1.ConditionAdopted); err != nil || adopted == nil || adopted.Status != metav1.ConditionFalse || adopted.Reason != v1alpha1.ReasonZoneNotFound || stored.Status.FQDN != "" {
		t.Errorf("by reference: %v, %+v", err, stored.Status)
	}
	// And no update moves a record there (S1.7).
	must.Succeed(t, a.tenants[mallory].putRecord(ctx, "moves", "moves.team.shared.example.", "A", "192.0.2.66"))
	_, err = a.tenants[mallory].records().Patch(ctx, "moves", types.MergePatchType, []byte(`{"spec":{"domainName":"moves.victim.example."}}`), metav1.PatchOptions{})
	expectRefusal(t, "moving there", err, invalid)
}

// 11: S4.15. Mallory may put name servers at "deep", and the victim has a record below.
func cutAboveOthers(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	expectRefusal(t, "a cut above others' records", a.tenants[mallory].putRecord(ctx, "deep", "deep.shared.example.", "NS",
		"ns.mallory.test."), forbidden)
	a.expectHeld(ctx, t, "quietvictim-deep", platform)
}

// 12: S4.6, S4.8.
func wildcardAboveGrant(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	for i, domain := range []string{"*.shared.example.", "*.victim.example.", "*.shop.shared.example."} {
		expectRefusal(t, domain, a.tenants[mallory].putRecord(ctx, fmt.Sprintf("wildcard-%d", i), domain, "A", "192.0.2.66"), forbidden)
	}
}

// 13: S5.6, S4.5.
func tryAliases(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	them := a.tenants[mallory]
	must.Succeed(t, them.putRecord(ctx, "beside", "beside.own.shared.example.", "A", "192.0.2.66"))
	for i, x := range []struct{ domain, kind string }{
		{"shared.example.", "CNAME"}, {"shared.example.", "DNAME"}, {"victim.example.", "CNAME"},
		{"shop.shared.example.", "CNAME"}, {"kids.shared.example.", "DNAME"},
		{"own.shared.example.", "DNAME"}, {"beside.own.shared.example.", "CNAME"}, {"beside.own.shared.example.", "DNAME"},
	} {
		expectRefusal(t, x.kind+" at "+x.domain, them.putRecord(ctx, fmt.Sprintf("alias-%d", i), x.domain, x.kind,
			"elsewhere.mallory.test."), forbidden, invalid)
	}
	expectRefusal(t, "the zone's owner: CNAME at its apex", a.tenants[platform].putRecord(ctx, "alias", "shared.example.", "CNAME",
		"elsewhere.test."), invalid)
}

// 14: S4.8, S4.8.
func tryChallenges(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	for i, domain := range []string{"_acme-challenge.victim.example.", "_acme-challenge.www.victim.example.", "_acme-challenge.shared.example.", "_acme-challenge.shop.shared.example."} {
		for n, kind := range []string{"TXT", "CNAME", "NS"} {
			expectRefusal(t, kind+" at "+domain, a.tenants[mallory].putRecord(ctx, fmt.Sprintf("challenge-%d-%d", i, n), domain, kind,
				map[string]string{"TXT": "token"}[kind]+map[bool]string{true: "ns.mallory.test."}[kind != "TXT"]), forbidden)
		}
	}
}

// 15: S4.1, S4.5. Mallory's rule there says A and AAAA.
func otherTypes(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	for i, x := range []struct{ domain, kind, value string }{
		{"team.shared.example.", "CAA", `0 issue "mallory.test"`}, {"team.shared.example.", "MX", "10 mail.mallory.test."}, {"_443._tcp.team.shared.example.", "TLSA", "3 1 1 " + strings.Repeat("0", 64)},
		{"team.shared.example.", "TXT", "v=spf1 +all"}, {"_dmarc.team.shared.example.", "TXT", "v=DMARC1; p=none"}, {"s1._domainkey.team.shared.example.", "TXT", "v=DKIM1; p="},
		{"x.team.shared.example.", "TYPE15", `\# 3 000a00`}, {"x.team.shared.example.", "txt", "x"}, {"x.team.shared.example.", "SVCB", "1 ."}, {"x.team.shared.example.", "HTTPS", "1 ."},
		{"wpad.shared.example.", "A", "192.0.2.66"}, {"autodiscover.shared.example.", "A", "192.0.2.66"},
	} {
		expectRefusal(t, x.kind+" at "+x.domain, a.tenants[mallory].putRecord(ctx, fmt.Sprintf("type-%d", i), x.domain, x.kind, x.value),
			forbidden)
	}
}

// 16: S4.5, S5.4. "own" is mallory's with any type that a rule without types means.
func reservedTypes(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	digest := strings.Repeat("0", 64)
	for i, x := range []struct{ domain, kind, value string }{
		{"own.shared.example.", "SOA", "a. b. 1 1 1 1 1"}, {"own.shared.example.", "DS", "1 8 2 " + digest}, {"own.shared.example.", "DNSKEY", "257 3 8 AAAA"},
		{"own.shared.example.", "CDS", "1 8 2 " + digest}, {"own.shared.example.", "CDNSKEY", "257 3 8 AAAA"}, {"own.shared.example.", "CSYNC", "1 0 A"},
		{"own.shared.example.", "RRSIG", "A 8 3 3600 20300101000000 20200101000000 1 shared.example. AAAA"}, {"own.shared.example.", "NSEC", "a. A"}, {"own.shared.example.", "ZONEMD", "1 1 1 " + strings.Repeat("0", 96)},
		{"own.shared.example.", "NS", "ns.mallory.test."}, {"own.shared.example.", "DNAME", "mallory.test."},
		{"_dsboot.own._signal.shared.example.", "CDS", "1 8 2 " + digest},
		{"own.shared.example.", "TYPE6", `\# 0`}, {"own.shared.example.", "TYPE43", `\# 36 00010802` + digest}, {"own.shared.example.", "TYPE2", `\# 1 00`},
		{"own.shared.example.", "OPT", "x"}, {"own.shared.example.", "TSIG", "x"}, {"own.shared.example.", "ANY", "x"}, {"own.shared.example.", "AXFR", "x"}, {"own.shared.example.", "TYPE0", `\# 0`},
	} {
		expectRefusal(t, x.kind+" at "+x.domain, a.tenants[mallory].putRecord(ctx, fmt.Sprintf("reserved-%d", i), x.domain, x.kind,
			x.value), forbidden, invalid)
	}
}

// 17: S4.5, S5.4, S5.5.
func numberedTypes(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	them := a.tenants[mallory]
	must.Succeed(t, them.putRecord(ctx, "numbered", "numbered.team.shared.example.", "TYPE1", `\# 4 c0000211`))
	for _, rr := range readEntries(ctx, t, a.tenants[platform], platform, "shared") {
		if rr.Header().Name == "numbered.team.shared.example." && !strings.HasSuffix(rr.String(), "\tIN\tA\t192.0.2.17") {
			t.Errorf("TYPE1 is %s", rr)
		}
	}
	// Beside TYPE5, as beside CNAME, other data is refused (S5.6).
	must.Succeed(t, them.putRecord(ctx, "numbered-3", "n3.own.shared.example.", "TYPE5", `\# 3 016100`))
	expectRefusal(t, "data beside TYPE5", them.putRecord(ctx, "numbered-4", "n3.own.shared.example.", "A", "192.0.2.17"), invalid)
	expectRefusal(t, "A by its number where an A cannot be read", them.putRecord(ctx, "numbered-2", "n2.team.shared.example.", "TYPE1",
		`\# 3 c00002`), invalid)
	for i, class := range []string{"CH", "ANY", "HS", "NONE", "CLASS255"} {
		r := makeRecord(mallory, fmt.Sprintf("class-%d", i), "class.team.shared.example.", "A", "192.0.2.17")
		r.Spec.Class = v1alpha1.RRClass(class)
		_, err := them.records().Create(ctx, r, metav1.CreateOptions{})
		expectRefusal(t, "class "+class, err, invalid)
	}
}

// 18: S5.8.
func tooMuchAtAName(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	them := a.tenants[mallory]
	var values []string
	for i := range 101 {
		values = append(values, fmt.Sprintf("192.0.2.%d", i))
	}
	err := them.putRecord(ctx, "many", "many.team.shared.example.", "A", values...)
	expectRefusal(t, "101 values", err, invalid)
	if err != nil && !strings.Contains(err.Error(), "100") {
		t.Errorf("the limit is not named: %v", err)
	}
	must.Succeed(t, them.putRecord(ctx, "many", "many.team.shared.example.", "A", values[:100]...))
	expectRefusal(t, "one more from another object", them.putRecord(ctx, "many-2", "many.team.shared.example.", "A", "192.0.2.200"),
		invalid, forbidden)
	expectRefusal(t, "a value of 5 KiB", them.putRecord(ctx, "large", "large.own.shared.example.", "TXT", strings.Repeat("x", 5<<10)),
		invalid)
	values = nil
	for i := range 20 {
		values = append(values, fmt.Sprintf("%d-%s", i, strings.Repeat("x", 3900)))
	}
	expectRefusal(t, "an RRset of 78,000 octets", them.putRecord(ctx, "wide", "wide.own.shared.example.", "TXT", values...), invalid)
}

// 19: consent is the zone's own object (S4.1, S6.12, S7.4).
func forgedConsent(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	them := a.tenants[mallory]
	z := makeZone(mallory, "forged", "forged.victim.example.")
	z.Labels = map[string]string{"kubi.zone/parent-zone": "quietvictim-zone." + victim}
	z.Annotations = map[string]string{"kubi.zone/accept-serial": "1", "kubi.zone/delegated-by": victim}
	z.Status = v1alpha1.ZoneStatus{FQDN: "forged.victim.example.", Serial: 7, Conditions: []metav1.Condition{{Type: "Delegated", Status: "True", Reason: "Delegated"}}}
	_, err := them.zones().Create(ctx, z, metav1.CreateOptions{})
	expectRefusal(t, "a zone", err, forbidden)
	r := makeRecord(mallory, "forged", "forged.nowhere.test.", "A", "192.0.2.66")
	r.Labels = z.Labels
	r.Status = v1alpha1.RecordStatus{
		FQDN: "www.victim.example.", Serial: 7, ZoneRef: &v1alpha1.AdoptingZone{Namespace: victim, Name: "quietvictim-zone"},
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionAdopted, Status: "True", Reason: "Adopted"}},
	}
	have := must.Get(them.records().Create(ctx, r, metav1.CreateOptions{}))(t)
	if meta.IsStatusConditionTrue(have.Status.Conditions, v1alpha1.ConditionAdopted) || have.Status.ZoneRef != nil || have.Status.Serial != 0 {
		t.Errorf("a record says of itself %+v", have.Status)
	}
}

// 21: S2.5, S4.1: a new zone of the same name has only its own rules.
func recreatedZone(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	owner, them := a.tenants[platform], a.tenants[mallory]
	make := func(rules ...v1alpha1.DelegationRule) {
		t.Helper()
		must.Get(owner.zones().Create(ctx, makeZone(platform, "again", "again.example.", rules...), metav1.CreateOptions{}))(t)
	}
	make(makeRule(mallory, nil, "*"))
	must.Succeed(t, them.putRecord(ctx, "again", "mine.again.example.", "A", "192.0.2.66"))
	must.Succeed(t, kuberig.DeleteZone(ctx, owner.zones(), "again"))
	make(makeRule(platform, nil, "*"))
	expectRefusal(t, "a new record", them.putRecord(ctx, "again-2", "more.again.example.", "A", "192.0.2.66"), forbidden)
	until(ctx, t, "the old record is in no zone", func() error {
		have, err := them.records().Get(ctx, "again", metav1.GetOptions{})
		if err == nil && (have.Status.ZoneRef != nil || meta.IsStatusConditionTrue(have.Status.Conditions, v1alpha1.ConditionAdopted)) {
			err = fmt.Errorf("it is in %v", have.Status.ZoneRef)
		}
		return err
	})
}

// 22: S8.7. A story of test/cluster, with a garbage collector, tests such a reference.
func ownerReferences(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	them := a.tenants[mallory]
	_, err := them.Zones(platform).Patch(ctx, "shared", types.MergePatchType, []byte(`{"metadata":{"finalizers":["mallory.test/forever"],"ownerReferences":null}}`), metav1.PatchOptions{})
	expectRefusal(t, "a finalizer on a foreign zone", err, forbidden)
	foreign := must.Get(a.admin.Zones(platform).Get(ctx, "shared", metav1.GetOptions{}))(t)
	block := true
	r := makeRecord(mallory, "owned", "owned.team.shared.example.", "A", "192.0.2.66")
	r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "kubi.zone/v1alpha1", Kind: "Zone", Name: foreign.Name, UID: foreign.UID, BlockOwnerDeletion: &block}}
	if _, err := them.records().Create(ctx, r, metav1.CreateOptions{}); err != nil {
		expectRefusal(t, "an owner elsewhere", err, forbidden, invalid)
	}
	foreground := metav1.DeletePropagationForeground
	if err := them.records().Delete(ctx, "owned", metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
	if still := must.Get(a.admin.Zones(platform).Get(ctx, "shared", metav1.GetOptions{}))(t); still.DeletionTimestamp != nil ||
		len(still.Finalizers) > 0 || still.UID != foreign.UID {
		t.Errorf("the foreign zone is %+v", still.ObjectMeta)
	}
}

// 23: S7.4, S6.8.
func forgedStatus(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	them := a.tenants[victim]
	before := must.Get(them.zones().Get(ctx, "quietvictim-zone", metav1.GetOptions{}))(t)
	forged := before.DeepCopy()
	forged.Status = v1alpha1.ZoneStatus{FQDN: "else.example.", Serial: before.Status.Serial + 1<<31 - 1, Hash: strings.Repeat("0", 64), ContentState: "00", EntryCount: 7}
	after := must.Get(them.zones().Update(ctx, forged, metav1.UpdateOptions{}))(t)
	if after.Status.Serial != before.Status.Serial || after.Status.Hash != before.Status.Hash || after.Status.FQDN != before.Status.FQDN || after.Status.ContentState != before.Status.ContentState {
		t.Errorf("status is %+v, was %+v", after.Status, before.Status)
	}
	patch := []byte(`{"status":{"serial":1}}`)
	_, err := them.zones().Patch(ctx, "quietvictim-zone", types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	refusedOwn(t, "the zone's status", err, forbidden)
	_, err = them.records().Patch(ctx, "quietvictim-www", types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	refusedOwn(t, "the record's status", err, forbidden)
	for _, serial := range []string{"-1", "4294967296", "9223372036854775807", `"x"`} {
		_, err := them.zones().Patch(ctx, "quietvictim-zone", types.MergePatchType, []byte(`{"spec":{"minimumSerial":`+serial+`}}`), metav1.PatchOptions{})
		refusedOwn(t, "minimumSerial "+serial, err, invalid, malformed)
	}
}

// refusedOwn is expectRefusal for a tenant whose own names may be in the answer.
func refusedOwn(t *testing.T, what string, err error, codes ...int32) {
	t.Helper()
	if status, ok := err.(apierrors.APIStatus); !ok || !slices.Contains(codes, status.Status().Code) {
		t.Errorf("%s: %v, want %v", what, err, codes)
	}
}
