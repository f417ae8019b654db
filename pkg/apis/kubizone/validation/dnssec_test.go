// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

func dsOf(tag, algorithm, digestType int32, octets int) v1alpha1.DelegationSigner {
	return v1alpha1.DelegationSigner{KeyTag: tag, Algorithm: algorithm, DigestType: digestType, Digest: strings.Repeat("aB", octets)}
}

func signedZone(change func(*v1alpha1.ZoneDNSSECStatus)) (after, before *v1alpha1.Zone) {
	before = &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "dev", ResourceVersion: "1"}, Status: v1alpha1.ZoneStatus{FQDN: "dev.example.org."}}
	after = before.DeepCopy()
	after.Status.DNSSEC = &v1alpha1.ZoneDNSSECStatus{FQDN: "dev.example.org.", Phase: v1alpha1.DNSSECSigned, Policy: "default", DS: []v1alpha1.DelegationSigner{dsOf(12345, 13, 2, 32)}}
	change(after.Status.DNSSEC)
	return after, before
}

// S12.2, S12.3: a controller's status of a signed zone.
func TestZoneDNSSECUpdate_S12_3(t *testing.T) {
	t.Parallel()
	type status = v1alpha1.ZoneDNSSECStatus
	ds := func(list ...v1alpha1.DelegationSigner) func(*status) { return func(s *status) { s.DS = list } }
	var many []v1alpha1.DelegationSigner
	for i := range int32(MaxDS + 1) {
		many = append(many, dsOf(i, 13, 2, 32))
	}
	for what, test := range map[string]struct {
		change func(*status)
		want   string // "": accepted
	}{
		"one":                  {func(*status) {}, ""},
		"none":                 {ds(), ""},
		"key tag 0":            {ds(dsOf(0, 13, 2, 32)), ""},
		"each digest type":     {ds(dsOf(1, 8, 1, 20), dsOf(1, 8, 2, 32), dsOf(1, 8, 4, 48)), ""},
		"as many as may be":    {ds(many[:MaxDS]...), ""},
		"one more":             {ds(many...), "status.dnssec.ds: Too many"},
		"another name":         {func(s *status) { s.FQDN = "test.example.org." }, "status.dnssec.fqdn: Invalid"},
		"no name":              {func(s *status) { s.FQDN = "" }, "status.dnssec.fqdn: Invalid"},
		"key tag":              {ds(dsOf(65536, 13, 2, 32)), "status.dnssec.ds[0].keyTag: Invalid"},
		"key tag below 0":      {ds(dsOf(-1, 13, 2, 32)), "status.dnssec.ds[0].keyTag: Invalid"},
		"algorithm 0":          {ds(dsOf(1, 0, 2, 32)), "status.dnssec.ds[0].algorithm: Invalid"},
		"algorithm of no zone": {ds(dsOf(1, 2, 2, 32)), "status.dnssec.ds[0].algorithm: Invalid"},
		"digest type 0":        {ds(dsOf(1, 13, 0, 1)), "status.dnssec.ds[0].digestType: Invalid"},
		"digest type 3":        {ds(dsOf(1, 13, 3, 32)), "status.dnssec.ds[0].digestType: Invalid"},
		"digest too short":     {ds(dsOf(1, 13, 2, 31)), "status.dnssec.ds[0].digest: Invalid"},
		"digest of another":    {ds(dsOf(1, 13, 1, 32)), "status.dnssec.ds[0].digest: Invalid"},
		"digest no hex":        {ds(v1alpha1.DelegationSigner{Algorithm: 13, DigestType: 2, Digest: strings.Repeat("0g", 32)}), "status.dnssec.ds[0].digest: Invalid"},
		"twice": {ds(dsOf(1, 13, 2, 32), v1alpha1.DelegationSigner{KeyTag: 1, Algorithm: 13, DigestType: 2, Digest: strings.Repeat("AB", 32)}),
			"status.dnssec.ds[1]: Duplicate"},
		"phase":   {func(s *status) { s.Phase = "Done" }, "status.dnssec.phase: Unsupported"},
		"message": {func(s *status) { s.Message = strings.Repeat("x", 1025) }, "status.dnssec.message: Too long"},
		"serial":  {func(s *status) { s.PassSerial = 1 << 32 }, "status.dnssec.passSerial: Invalid"},
		"TTL":     {func(s *status) { s.LongestDSTTL = -1 }, "status.dnssec.longestDSTTL: Invalid"},
		"policy":  {func(s *status) { s.Policy = "a b" }, "status.dnssec.policy: Invalid"},
		"signer":  {func(s *status) { s.Signer = &v1alpha1.ZoneSigner{Namespace: "Dns", Name: "signer"} }, "status.dnssec.signer.namespace: Invalid"},
		"its name": {func(s *status) { s.Signer = &v1alpha1.ZoneSigner{Namespace: "dns", Name: "a/b"} },
			"status.dnssec.signer.name: Invalid"},
	} {
		after, before := signedZone(test.change)
		errs := ZoneDNSSECUpdate(after, before)
		wantRules(t, errs)
		if (test.want == "") != (len(errs) == 0) || len(errs) > 0 && !strings.HasPrefix(errs[0].Error(), test.want) {
			t.Errorf("%s: %v, want %q", what, errs, test.want)
		}
	}
	after, before := signedZone(func(*status) {})
	before.Status.FQDN = "" // pending
	if errs := ZoneDNSSECUpdate(after, before); len(errs) == 0 {
		t.Error("a pending zone is signed")
	}
	if errs := ZoneDNSSECUpdate(before, after); len(errs) > 0 {
		t.Errorf("it is signed no more: %v", errs)
	}
}

// A tenant asks for a signed zone by the name of a policy, which must be a DNS label (S12.1). The owner of a parent
// zone writes `ds` into a rule, and the rule must then also list `zones`, since only child zones have DS records
// (S6.16).
func TestZone_dnssec_S12_1(t *testing.T) {
	t.Parallel()
	for policy, ok := range map[string]bool{"default": true, "a": true, "p-256": true, strings.Repeat("a", 63): true,
		"": false, "P": false, "a.b": false, "-a": false, `a"; };`: false, strings.Repeat("a", 64): false} {
		errs := validateZoneDNSSEC(&v1alpha1.ZoneDNSSEC{Policy: policy})
		if ok != (len(errs) == 0) || !ok && errs[0].Field != "spec.dnssec.policy" {
			t.Errorf("policy %q: %v", policy, errs)
		}
	}
	for _, zones := range [][]string{nil, {"*"}} {
		errs := validateDelegationRules([]v1alpha1.DelegationRule{{Namespace: "team", Records: []v1alpha1.RecordDelegation{{Pattern: "www"}}, Zones: zones, DS: true}})
		if (zones == nil) != (len(errs) == 1 && errs[0].Field == "spec.delegations[0].ds") {
			t.Errorf("ds with zones %v: %v", zones, errs)
		}
		errs = validateDelegationSpec(&v1alpha1.Delegation{Spec: v1alpha1.DelegationSpec{ZoneRef: v1alpha1.DelegatedZone{Name: "org"},
			Namespaces: []string{"team"}, Zones: zones, DS: true}})
		if (zones == nil) != (len(errs) == 1 && errs[0].Field == "spec.ds") {
			t.Errorf("ds of a Delegation with zones %v: %v", zones, errs)
		}
	}
}

// An accepted text is the data of a DS record.
func FuzzDS(f *testing.F) {
	f.Add(`[{"keyTag":12345,"algorithm":13,"digestType":2,"digest":"49FD46E6C4B45C55D4AC69CBD3CD34AC1AFE51DE0123456789ABCDEF01234567"}]`)
	f.Add(`[{"keyTag":0,"algorithm":8,"digestType":1,"digest":"49fd46e6c4b45c55d4ac69cbd3cd34ac1afe51de"},{"algorithm":0,"digestType":0,"digest":"00"}]`)
	f.Fuzz(func(t *testing.T, text string) {
		var list []v1alpha1.DelegationSigner
		if json.Unmarshal([]byte(text), &list) != nil || len(validateDS(list, field.NewPath("ds"))) > 0 {
			return
		}
		seen := map[string]bool{}
		for _, ds := range list {
			value, err := rdata.Parse(rdata.DS, fmt.Sprintf("%d %d %d %s", ds.KeyTag, ds.Algorithm, ds.DigestType, ds.Digest))
			if err != nil {
				t.Fatalf("%+v is no DS: %v", ds, err)
			}
			if seen[value.Text] {
				t.Fatalf("%s twice", value.Text)
			}
			seen[value.Text] = true
		}
	})
}
