// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
)

const (
	maxPolicies   = 16
	maxPolicyTime = 10 * 365 * 24 * time.Hour
)

var builtinPolicies = []string{"default", "insecure", "none"}

// validateClusterDNSSEC validates the signing of a cluster. of is the cluster's storage, which the signer uses by
// default.
func validateClusterDNSSEC(dnssec *bind9.ClusterDNSSEC, of *bind9.Storage, path *field.Path) field.ErrorList {
	if dnssec == nil {
		return nil
	}
	errs := validateStorage(dnssec.Storage, path.Child("storage"))
	// Keys in an emptyDir would go with the pod, and the zones become bogus.
	if storage := cmp.Or(dnssec.Storage, of); storage == nil || storage.Type != bind9.StoragePersistentVolumeClaim {
		errs = append(errs, refusal.Cite("S12.4", field.Required(path.Child("storage"), "the signer keeps its keys on a claim: "+
			"write type PersistentVolumeClaim and a capacity, as 1Gi")))
	}
	names := map[string]bool{}
	return append(errs, validateEach(dnssec.Policies, maxPolicies, path.Child("policies"), func(policy bind9.DNSSECPolicy,
		at *field.Path) (errs field.ErrorList) {
		switch wrong := utilvalidation.IsDNS1123Label(policy.Name); {
		case policy.Name == "":
			errs = append(errs, field.Required(at.Child("name"), "the name by which a Zone names the policy"))
		case len(wrong) > 0:
			errs = append(errs, field.Invalid(at.Child("name"), cut(policy.Name), wrong[0]))
		case slices.Contains(builtinPolicies, policy.Name):
			errs = append(errs, field.Invalid(at.Child("name"), policy.Name, "is a policy built into BIND: choose another name"))
		case names[policy.Name]:
			errs = append(errs, field.Duplicate(at.Child("name"), policy.Name))
		}
		names[policy.Name] = true
		errs = append(errs, validateChoice(policy.Algorithm, at.Child("algorithm"), bind9.DNSSECRSASHA256, bind9.DNSSECECDSAP256SHA256,
			bind9.DNSSECECDSAP384SHA384, bind9.DNSSECED25519)...)
		return append(errs, validatePolicyTimes(&policy, at)...)
	})...)
}

// validatePolicyTimes refuses key lifetimes that end before a rollover with these times is over, so that rollovers do
// not overlap.
func validatePolicyTimes(policy *bind9.DNSSECPolicy, path *field.Path) field.ErrorList {
	timing := policy.Timing
	if timing == nil {
		timing = &bind9.DNSSECTiming{}
	}
	var errs field.ErrorList
	// 1. Read each time, with the defaults of the policy.
	read := func(at *field.Path, given *metav1.Duration, otherwise time.Duration) time.Duration {
		if given == nil {
			return otherwise
		}
		if d := given.Duration; d < time.Second || d > maxPolicyTime || d%time.Second != 0 {
			errs = append(errs, field.Invalid(at, given.Duration.String(), "must be whole seconds from 1s to 87600h, which is ten years"))
		}
		return given.Duration
	}
	at := path.Child("timing")
	dnskeyTTL, maxTTL := read(at.Child("dnskeyTTL"), timing.DNSKEYTTL, time.Hour), read(at.Child("maxZoneTTL"), timing.MaxZoneTTL,
		24*time.Hour)
	dsTTL := read(at.Child("parentDSTTL"), timing.ParentDSTTL, 24*time.Hour)
	spread, parentSpread := read(at.Child("zonePropagationDelay"), timing.ZonePropagationDelay, 5*time.Minute),
		read(at.Child("parentPropagationDelay"), timing.ParentPropagationDelay, time.Hour)
	publish, retire := read(at.Child("publishSafety"), timing.PublishSafety, time.Hour), read(at.Child("retireSafety"), timing.RetireSafety,
		time.Hour)
	validity, refresh := read(at.Child("signaturesValidity"), timing.SignaturesValidity, 14*24*time.Hour),
		read(at.Child("signaturesRefresh"), timing.SignaturesRefresh, 5*24*time.Hour)
	// Times out of range cannot be compared.
	if len(errs) > 0 {
		return errs
	}
	// 2. Compare: signatures must be renewed well before they end.
	if refresh >= validity*9/10 {
		errs = append(errs, field.Invalid(at.Child("signaturesRefresh"), refresh.String(),
			fmt.Sprintf("must be less than nine tenths of signaturesValidity, which is %s", validity)))
	}
	// A new key-signing key waits for its DNSKEY and for the parent's DS, a new zone-signing key for all signatures.
	for name, key := range map[string]struct {
		lifetime *metav1.Duration
		least    time.Duration
	}{
		"kskLifetime": {policy.KSKLifetime, max(dnskeyTTL+publish+spread, dsTTL+retire+parentSpread)},
		"zskLifetime": {policy.ZSKLifetime, max(dnskeyTTL+publish+spread, validity-refresh+maxTTL+retire+spread)},
	} {
		if lifetime := read(path.Child(name), key.lifetime, maxPolicyTime); key.lifetime != nil && lifetime <= key.least {
			errs = append(errs, field.Invalid(path.Child(name), lifetime.String(),
				fmt.Sprintf("must be more than %s, the time of a rollover with these values", key.least)))
		}
	}
	return errs
}
