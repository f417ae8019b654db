// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/agent/client"
	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
)

var begin = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

// signedBy is a signer's answer with keys in these DS states, tagged from 1 on.
func signedBy(states ...string) client.Signing {
	s := client.Signing{Present: true, Status: &protocol.DNSSECStatus{Signed: true}}
	for i, state := range states {
		tag := uint16(i + 1)
		s.Status.Keys = append(s.Status.Keys, protocol.DNSSECKey{Tag: tag, Role: "KSK", DSState: state})
		s.DS = append(s.DS, protocol.DSRecord{KeyTag: tag, Algorithm: 13, DigestType: 2, Digest: strings.Repeat("ab", 32)})
	}
	s.Status.Keys = append(s.Status.Keys, protocol.DNSSECKey{Tag: 99, Role: "ZSK"})
	return s
}

func dsOf(tags ...int32) []v1alpha1.DelegationSigner {
	list := []v1alpha1.DelegationSigner{}
	for _, tag := range tags {
		list = append(list, v1alpha1.DelegationSigner{KeyTag: tag, Algorithm: 13, DigestType: 2, Digest: strings.Repeat("AB", 32)})
	}
	return list
}

// While one key-signing key replaces another, the DS of the former key stays until the DS of the new key is known
// everywhere. Otherwise validating resolvers would have no DS that fits (S12.6).
func TestWantedDS_S12_6(t *testing.T) {
	for name, test := range map[string]struct {
		states []string
		want   []int32
	}{
		"a new zone":                               {[]string{"hidden"}, nil},
		"its key is to be published":               {[]string{"rumoured"}, []int32{1}},
		"it is known everywhere":                   {[]string{"omnipresent"}, []int32{1}},
		"a second key is not published yet":        {[]string{"omnipresent", "hidden"}, []int32{1}},
		"the second key comes":                     {[]string{"unretentive", "rumoured"}, []int32{1, 2}},
		"the second key is known everywhere":       {[]string{"unretentive", "omnipresent"}, []int32{2}},
		"the first one is forgotten":               {[]string{"hidden", "omnipresent"}, []int32{2}},
		"a third one comes before the second":      {[]string{"unretentive", "unretentive", "rumoured"}, []int32{1, 2, 3}},
		"the zone's keys are all on their way out": {[]string{"unretentive"}, []int32{1}},
	} {
		f := &facts{signing: signedBy(test.states...), status: &v1alpha1.ZoneDNSSECStatus{DS: dsOf(1, 2, 3)}}
		if got := wantedDS(f); !slices.Equal(got, dsOf(test.want...)) {
			t.Errorf("%s: %v, want the DS of %v", name, got, test.want)
		}
	}
}

// The list of keys comes from an agent that a tenant may have replaced, so it may repeat keys and DS without end. Each
// DS is taken once, up to the limit of a status (S12.3).
func TestWantedDS_isBounded_S12_3(t *testing.T) {
	repeated := signedBy("rumoured")
	repeated.Status.Keys = slices.Repeat(repeated.Status.Keys, 32)
	repeated.DS = slices.Repeat(repeated.DS, 64)
	if got := wantedDS(&facts{signing: repeated, status: &v1alpha1.ZoneDNSSECStatus{}}); !slices.Equal(got, dsOf(1)) {
		t.Errorf("%d DS of one key: %v", len(got), got)
	}
	// A zone-signing key of another algorithm has the tag of the key-signing key.
	shared := signedBy("omnipresent")
	shared.Status.Keys = append(shared.Status.Keys, protocol.DNSSECKey{Tag: shared.Status.Keys[0].Tag, Role: "ZSK"})
	if got := wantedDS(&facts{signing: shared, status: &v1alpha1.ZoneDNSSECStatus{}}); !slices.Equal(got, dsOf(1)) {
		t.Errorf("two keys of one tag: %v", got)
	}
	many := &facts{signing: signedBy(slices.Repeat([]string{"rumoured"}, maxDS+1)...), status: &v1alpha1.ZoneDNSSECStatus{}}
	if got := wantedDS(many); !slices.Equal(got, dsOf(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)) {
		t.Errorf("%d DS: %v", len(got), got)
	}
}

// S12.5, S12.6, S12.7: the action that follows from each fact.
func TestDecide_S12_5(t *testing.T) {
	fast := times{maxZoneTTL: time.Hour, parentDSTTL: 2 * time.Hour, dnskey: time.Minute}
	at := func(phase v1alpha1.DNSSECPhase, ago time.Duration, ds ...int32) *v1alpha1.ZoneDNSSECStatus {
		since := metaTime(begin.Add(-ago))
		return &v1alpha1.ZoneDNSSECStatus{Phase: phase, Policy: "fast", LastTransitionTime: &since, DS: dsOf(ds...)}
	}
	longTTL := func(s *v1alpha1.ZoneDNSSECStatus) *v1alpha1.ZoneDNSSECStatus { s.LongestDSTTL = 3 * 3600; return s }
	returning := func() *v1alpha1.ZoneDNSSECStatus { return at(v1alpha1.DNSSECReturning, 0) }
	none := v1alpha1.DNSSECPhase("")
	another := []v1alpha1.DelegationSigner{{KeyTag: 1, Algorithm: 13, DigestType: 2, Digest: strings.Repeat("CD", 32)}}
	for name, test := range map[string]struct {
		facts   facts
		phase   v1alpha1.DNSSECPhase
		gone    bool
		action  action
		report  []dsReport
		ds      []int32
		message string
	}{
		"asked for":                          {facts{policy: "fast"}, v1alpha1.DNSSECSigning, false, nothing, nil, nil, ""},
		"cannot be signed":                   {facts{policy: "fast", blocked: "no signer"}, none, false, nothing, nil, nil, "no signer"},
		"not asked for, with a message left": {facts{status: &v1alpha1.ZoneDNSSECStatus{Message: "no signer"}}, none, true, nothing, nil, nil, ""},

		"the signer lacks the zone":      {facts{policy: "fast", status: at(v1alpha1.DNSSECSigning, 0)}, v1alpha1.DNSSECSigning, false, ensure, nil, nil, ""},
		"another namespace had the name": {facts{policy: "fast", status: at(v1alpha1.DNSSECSigning, 0), signing: signedBy("omnipresent"), otherKeys: true, current: true}, v1alpha1.DNSSECSigning, false, remove, nil, nil, "another namespace"},
		"the signer has an older serial": {facts{policy: "fast", status: at(v1alpha1.DNSSECSigning, 0), signing: signedBy("hidden")}, v1alpha1.DNSSECSigning, false, nothing, nil, nil, ""},
		"the signer has signed":          {facts{policy: "fast", status: at(v1alpha1.DNSSECSigning, 0), signing: signedBy("hidden"), current: true}, v1alpha1.DNSSECMoving, false, nothing, nil, nil, ""},
		"withdrawn before it was signed": {facts{status: at(v1alpha1.DNSSECSigning, 0), signing: signedBy("hidden")}, v1alpha1.DNSSECReturning, false, nothing, nil, nil, ""},

		"a server lacks the keys":                 {facts{policy: "fast", status: at(v1alpha1.DNSSECMoving, 0), signing: signedBy("hidden"), unsigned: "ns1 lacks"}, v1alpha1.DNSSECMoving, false, remind, nil, nil, "ns1 lacks"},
		"all have the keys":                       {facts{policy: "fast", status: at(v1alpha1.DNSSECMoving, 0), signing: signedBy("hidden")}, v1alpha1.DNSSECSigned, false, nothing, nil, nil, ""},
		"the keys are lost while servers go over": {facts{policy: "fast", status: at(v1alpha1.DNSSECMoving, 0)}, v1alpha1.DNSSECMoving, false, nothing, nil, nil, "KeysLost"},

		"caches have unsigned answers": {facts{policy: "fast", status: at(v1alpha1.DNSSECSigned, time.Minute), signing: signedBy("rumoured")}, v1alpha1.DNSSECSigned, false, nothing, nil, nil, "caches"},
		"caches have them no more":     {facts{policy: "fast", status: at(v1alpha1.DNSSECSigned, time.Hour), signing: signedBy("rumoured")}, v1alpha1.DNSSECSigned, false, nothing, nil, []int32{1}, "waiting for the DS"},
		"a server fell back":           {facts{policy: "fast", status: at(v1alpha1.DNSSECSigned, time.Hour), signing: signedBy("rumoured"), unsigned: "ns1 lacks"}, v1alpha1.DNSSECSigned, false, remind, nil, nil, "ns1 lacks"},
		"the parent has the DS everywhere": {facts{policy: "fast", status: at(v1alpha1.DNSSECSigned, time.Hour, 1), signing: signedBy("rumoured"), parent: parent{dsAtAll: dsOf(1), dsAtAny: dsOf(1)}},
			v1alpha1.DNSSECSigned, false, nothing, []dsReport{{1, protocol.DSPublished}}, []int32{1}, ""},
		"the parent has a DS of another key with the tag": {facts{policy: "fast", status: at(v1alpha1.DNSSECSigned, time.Hour, 1), signing: signedBy("rumoured"), parent: parent{dsAtAll: another, dsAtAny: another}},
			v1alpha1.DNSSECSigned, false, nothing, nil, []int32{1}, "waiting for the DS"},
		"the parent is not known": {facts{policy: "fast", status: at(v1alpha1.DNSSECSigned, time.Hour, 1), signing: signedBy("rumoured"), parent: parent{readFailure: "no answer", dsAtAll: dsOf(1)}},
			v1alpha1.DNSSECSigned, false, nothing, nil, []int32{1}, "no answer"},
		"a server lacks the new key": {facts{policy: "fast", status: at(v1alpha1.DNSSECSigned, time.Hour, 1), signing: signedBy("unretentive", "rumoured"), unsigned: "ns1 lacks"},
			v1alpha1.DNSSECSigned, false, remind, nil, []int32{1}, "ns1 lacks"},
		"the new DS is everywhere": {facts{policy: "fast", status: at(v1alpha1.DNSSECSigned, time.Hour, 1, 2), signing: signedBy("unretentive", "rumoured"), parent: parent{dsAtAll: dsOf(1, 2), dsAtAny: dsOf(1, 2)}},
			v1alpha1.DNSSECSigned, false, nothing, []dsReport{{2, protocol.DSPublished}}, []int32{1, 2}, ""},
		"the former DS is still somewhere": {facts{policy: "fast", status: at(v1alpha1.DNSSECSigned, time.Hour, 2), signing: signedBy("unretentive", "omnipresent"), parent: parent{dsAtAll: dsOf(2), dsAtAny: dsOf(1, 2)}},
			v1alpha1.DNSSECSigned, false, nothing, nil, []int32{2}, "to drop the DS"},
		"the former DS is nowhere": {facts{policy: "fast", status: at(v1alpha1.DNSSECSigned, time.Hour, 2), signing: signedBy("unretentive", "omnipresent"), parent: parent{dsAtAll: dsOf(2), dsAtAny: dsOf(2)}},
			v1alpha1.DNSSECSigned, false, nothing, []dsReport{{1, protocol.DSWithdrawn}}, []int32{2}, ""},
		"another policy":              {facts{policy: "slow", status: at(v1alpha1.DNSSECSigned, time.Hour, 1), signing: signedBy("omnipresent")}, v1alpha1.DNSSECSigned, false, ensure, nil, []int32{1}, ""},
		"the policy is gone":          {facts{policy: "fast", blocked: "no policy fast", status: at(v1alpha1.DNSSECSigned, time.Hour, 1), signing: signedBy("omnipresent")}, v1alpha1.DNSSECSigned, false, nothing, nil, []int32{1}, "as before"},
		"the keys are lost":           {facts{policy: "fast", status: at(v1alpha1.DNSSECSigned, time.Hour, 1)}, v1alpha1.DNSSECSigned, false, nothing, nil, []int32{1}, "KeysLost"},
		"no longer asked for":         {facts{status: at(v1alpha1.DNSSECSigned, time.Hour, 1), signing: signedBy("omnipresent")}, v1alpha1.DNSSECWithdrawing, false, nothing, nil, nil, ""},
		"the parent has the DS still": {facts{status: at(v1alpha1.DNSSECWithdrawing, 0), parent: parent{dsAtAny: dsOf(1)}}, v1alpha1.DNSSECWithdrawing, false, nothing, nil, nil, "to drop the DS"},
		"the parent cannot be asked":  {facts{status: at(v1alpha1.DNSSECWithdrawing, 0), parent: parent{readFailure: "no answer"}}, v1alpha1.DNSSECWithdrawing, false, nothing, nil, nil, "no answer"},
		"no server has the DS":        {facts{status: at(v1alpha1.DNSSECWithdrawing, 0)}, v1alpha1.DNSSECExpiring, false, nothing, nil, nil, ""},
		"asked for again":             {facts{policy: "fast", status: at(v1alpha1.DNSSECWithdrawing, 0)}, v1alpha1.DNSSECSigned, false, nothing, nil, nil, ""},
		"caches have the DS":          {facts{status: at(v1alpha1.DNSSECExpiring, time.Hour)}, v1alpha1.DNSSECExpiring, false, nothing, nil, nil, "caches"},
		"the parent's TTL is longer":  {facts{status: at(v1alpha1.DNSSECExpiring, 2*time.Hour), parent: parent{ttl: 3 * time.Hour}}, v1alpha1.DNSSECExpiring, false, nothing, nil, nil, "caches"},
		"the TTL was longer":          {facts{status: longTTL(at(v1alpha1.DNSSECExpiring, 2*time.Hour))}, v1alpha1.DNSSECExpiring, false, nothing, nil, nil, "caches"},
		"a TTL above the policy's":    {facts{policy: "fast", status: at(v1alpha1.DNSSECSigned, 2*time.Hour, 1), signing: signedBy("rumoured"), parent: parent{dsAtAll: dsOf(1), dsAtAny: dsOf(1), ttl: 48 * time.Hour}}, v1alpha1.DNSSECSigned, false, nothing, nil, []int32{1}, "timing.parentDSTTL 2h0m0s"},
		"the parent has a DS again":   {facts{status: at(v1alpha1.DNSSECExpiring, 2*time.Hour), parent: parent{dsAtAny: dsOf(1)}}, v1alpha1.DNSSECWithdrawing, false, nothing, nil, nil, ""},
		"no answer at the end":        {facts{status: at(v1alpha1.DNSSECExpiring, 2*time.Hour), parent: parent{readFailure: "no answer"}}, v1alpha1.DNSSECExpiring, false, nothing, nil, nil, "no answer"},
		"caches have the DS no more":  {facts{status: at(v1alpha1.DNSSECExpiring, 2*time.Hour)}, v1alpha1.DNSSECReturning, false, nothing, nil, nil, ""},
		"servers are ahead": {facts{status: returning(), signed: "ns1"},
			v1alpha1.DNSSECReturning, false, passServers, nil, nil, ""},
		"servers come back": {facts{status: returning(), signed: "ns1", passed: true},
			v1alpha1.DNSSECReturning, false, nothing, nil, nil, "ns1"},
		"all are back": {facts{status: returning(), passed: true}, none, true, remove, nil, nil, ""},
		"asked for while they come back": {facts{policy: "fast", status: returning(), signed: "ns1", passed: true},
			v1alpha1.DNSSECReturning, false, nothing, nil, nil, "ns1"},
	} {
		f := test.facts
		f.now, f.times = begin, fast
		d := decideNext(&f)
		if (d.status == nil) != test.gone || d.action != test.action || !slices.Equal(d.reports, test.report) {
			t.Errorf("%s: %+v", name, d)
			continue
		}
		if test.gone {
			continue
		}
		if d.status.Phase != test.phase || !slices.Equal(d.status.DS, dsOf(test.ds...)) || !strings.Contains(d.status.Message, test.message) {
			t.Errorf("%s: phase %q, DS %v, message %q", name, d.status.Phase, d.status.DS, d.status.Message)
		}
		waits := strings.HasPrefix(d.status.Message, "waiting for") || strings.HasPrefix(d.status.Message, "the DS at the parent has")
		if d.awaitsDS != (waits && d.status.Phase == v1alpha1.DNSSECSigned) {
			t.Errorf("%s: the metrics count the zone as waiting for its DS: %v, message %q", name, d.awaitsDS, d.status.Message)
		}
		if d.requeueAfter <= 0 || d.requeueAfter > settledInterval {
			t.Errorf("%s: looked at again in %s", name, d.requeueAfter)
		}
	}
}

// If the parent never publishes a DS, named keeps each replaced key, and keys would pile up. So when more than three
// keys wait for their DS, the DS of the replaced keys are no longer requested. A key whose DS is at the parent is kept,
// and all keys are kept while the parent cannot be asked (S12.6).
func TestWantedDS_ofAParentThatGetsNone_S12_6(t *testing.T) {
	former := func(n int) []string { return append(slices.Repeat([]string{"unretentive"}, n), "rumoured") }
	for name, test := range map[string]struct {
		states  []string
		asked   []int32
		has     []int32
		unknown string
		want    []int32
	}{
		"three keys wait":                         {former(2), []int32{1, 2, 3}, nil, "", []int32{1, 2, 3}},
		"four keys wait":                          {former(3), []int32{1, 2, 3, 4}, nil, "", []int32{4}},
		"the former ones left, and named keeps 2": {[]string{"hidden", "unretentive", "hidden", "rumoured"}, []int32{4}, nil, "", []int32{4}},
		"the parent has one of four":              {former(3), []int32{1, 2, 3, 4}, []int32{2}, "", []int32{1, 2, 3, 4}},
		"the parent has one of five":              {former(4), []int32{1, 2, 3, 4, 5}, []int32{2}, "", []int32{2, 5}},
		"the parent cannot be asked":              {former(4), []int32{1, 2, 3, 4, 5}, nil, "no answer", []int32{1, 2, 3, 4, 5}},
	} {
		f := &facts{signing: signedBy(test.states...), status: &v1alpha1.ZoneDNSSECStatus{DS: dsOf(test.asked...)}, parent: parent{dsAtAny: dsOf(test.has...), readFailure: test.unknown}}
		if got := wantedDS(f); !slices.Equal(got, dsOf(test.want...)) {
			t.Errorf("%s: %v, want the DS of %v", name, got, test.want)
		}
	}
}

// A zone that becomes unsigned waits for the TTL of the DS at its parent. The parent's server may answer with any TTL,
// so a TTL above a week and above the TTL in the policy counts as the longer of the two (S12.5). A later, shorter TTL
// changes nothing.
func TestNoteTTL_S12_5(t *testing.T) {
	for _, test := range []struct{ ttl, policy, want time.Duration }{
		{0, time.Hour, 0}, {time.Minute, time.Hour, time.Minute}, {maxDSTTL, time.Hour, maxDSTTL}, {maxDSTTL + time.Second, time.Hour, maxDSTTL},
		{2 * maxDSTTL, 2 * maxDSTTL, 2 * maxDSTTL}, {1 << 31 * time.Second, 2 * maxDSTTL, 2 * maxDSTTL},
	} {
		d := decision{status: &v1alpha1.ZoneDNSSECStatus{}}
		for _, ttl := range []time.Duration{test.ttl, 0} {
			d.noteTTL(&facts{times: times{parentDSTTL: test.policy}, parent: parent{ttl: ttl}})
		}
		if got := time.Duration(d.status.LongestDSTTL) * time.Second; got != test.want {
			t.Errorf("TTL %s with %s of the policy: %s, want %s", test.ttl, test.policy, got, test.want)
		}
	}
}

// A Zone deleted between two watches is freed from memory, too.
func TestForgetZone(t *testing.T) {
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
	for _, gone := range []any{zone, cache.DeletedFinalStateUnknown{Key: "team/z", Obj: zone}} {
		c := &Controller{memory: memory{zones: map[types.UID]*zoneMemory{}}}
		c.memory.forZone("u")
		if c.forgetZone(gone); len(c.memory.zones) > 0 {
			t.Errorf("%T: %d Zones are remembered", gone, len(c.memory.zones))
		}
	}
}

// The controller tells the signer once that the parent has published or withdrawn a DS. A repetition would restart a
// wait in the signer, so only a failed report is repeated.
func TestMemory_reportsOnce(t *testing.T) {
	m := memory{zones: map[types.UID]*zoneMemory{}}
	one, failed := dsReport{7, protocol.DSPublished}, errors.New("the agent does not answer")
	calls := 0
	for _, step := range []struct {
		zone  types.UID
		one   dsReport
		err   error
		calls int
	}{{"u", one, failed, 1}, {"u", one, nil, 2}, {"u", one, nil, 2}, {"u", dsReport{7, protocol.DSWithdrawn}, nil, 3}, {"v", one, nil, 4}} {
		err := m.forZone(step.zone).reportOnce(step.one, func() error { calls++; return step.err })
		if err != step.err || calls != step.calls {
			t.Errorf("%+v: %v, told %d times", step, err, calls)
		}
	}
}
