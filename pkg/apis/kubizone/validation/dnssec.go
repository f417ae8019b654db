// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
)

const MaxDS = 16

// Lengths by digest type (RFC 4034 §5.1.4, RFC 4509, RFC 6605).
var digestOctets = map[int32]int{1: 20, 2: 32, 4: 48}

var zoneSigning = []int32{3, 5, 6, 7, 8, 10, 12, 13, 14, 15, 16, 17, 23, 253, 254}

func validateZoneDNSSEC(dnssec *v1alpha1.ZoneDNSSEC) field.ErrorList {
	if dnssec == nil {
		return nil
	}
	return validatePolicyName(dnssec.Policy, specPath.Child("dnssec", "policy"))
}

func validatePolicyName(text string, path *field.Path) field.ErrorList {
	if text == "" {
		return field.ErrorList{field.Required(path, `"default", or the name of a policy in spec.dnssec of the Bind9Cluster that the `+
			`zone's class delivers to`)}
	}
	if len(validation.IsDNS1123Label(text)) > 0 {
		return field.ErrorList{field.Invalid(path, cut(text), "must be an RFC 1123 label: at most 63 lower case letters, "+
			"digits and inner hyphens")}
	}
	return nil
}

// ZoneDNSSECUpdate validates a write of zones/dnssec. A status for another name than status.fqdn is refused: a digest
// is that of a key at a name (S12.2).
func ZoneDNSSECUpdate(after, before *v1alpha1.Zone) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&after.ObjectMeta, &before.ObjectMeta, field.NewPath("metadata"))
	errs = append(errs, validateStatusSize(zoneSizes(after), zoneSizes(before))...)
	dnssec, path := after.Status.DNSSEC, field.NewPath("status", "dnssec")
	if dnssec == nil {
		return errs
	}
	if dnssec.FQDN == "" || dnssec.FQDN != before.Status.FQDN {
		errs = append(errs, refusal.Cite("S12.2", field.Invalid(path.Child("fqdn"), cut(dnssec.FQDN),
			fmt.Sprintf("must be status.fqdn of the Zone, which is %q",
				before.Status.FQDN))))
	}
	errs = append(errs, validateChoice(dnssec.Phase, path.Child("phase"), v1alpha1.DNSSECSigning, v1alpha1.DNSSECMoving,
		v1alpha1.DNSSECSigned,
		v1alpha1.DNSSECWithdrawing, v1alpha1.DNSSECExpiring, v1alpha1.DNSSECReturning)...)
	errs = append(errs, validateMessage(dnssec.Message, path.Child("message"))...)
	if dnssec.Policy != "" {
		errs = append(errs, validatePolicyName(dnssec.Policy, path.Child("policy"))...)
	}
	// The Bind9Instance that has the zone's keys.
	if s := dnssec.Signer; s != nil {
		errs = append(errs, validateNamespace(s.Namespace, path.Child("signer", "namespace"))...)
		if len(validation.IsDNS1123Subdomain(s.Name)) > 0 {
			errs = append(errs, field.Invalid(path.Child("signer", "name"), cut(s.Name), "must be the name of a Bind9Instance"))
		}
	}
	// 0 means no serial to pass.
	if s := dnssec.PassSerial; s < 0 || s > math.MaxUint32 {
		errs = append(errs, field.Invalid(path.Child("passSerial"), s, "must be a serial, from 1 to 4294967295, or absent"))
	}
	// Expiring would end at once.
	if ttl := dnssec.LongestDSTTL; ttl < 0 {
		errs = append(errs, field.Invalid(path.Child("longestDSTTL"), ttl, "must be a TTL in seconds, from 1 to 2147483647, or absent"))
	}
	return append(errs, validateDS(dnssec.DS, path.Child("ds"))...)
}

// validateDS validates the DS records of a zone: numbers in range, a digest of the right length, no two alike (S12.3).
func validateDS(list []v1alpha1.DelegationSigner, path *field.Path) field.ErrorList {
	seen := map[v1alpha1.DelegationSigner]bool{}
	return validateEach(list, MaxDS, path, func(ds v1alpha1.DelegationSigner, path *field.Path) (errs field.ErrorList) {
		if ds.KeyTag < 0 || ds.KeyTag > 65535 {
			errs = append(errs, field.Invalid(path.Child("keyTag"), ds.KeyTag, "must be from 0 to 65535 (RFC 4034 §5.1.1)"))
		}
		if !slices.Contains(zoneSigning, ds.Algorithm) {
			errs = append(errs, field.Invalid(path.Child("algorithm"), ds.Algorithm, "is no algorithm that signs zones in IANA's "+
				"registry of DNSSEC algorithm numbers: ECDSAP256SHA256 is 13"))
		}
		// A digest of a wrong length would make the child bogus for validating resolvers.
		octets, known := digestOctets[ds.DigestType]
		if !known {
			errs = append(errs, field.Invalid(path.Child("digestType"), ds.DigestType, "must be 1 (SHA-1), 2 (SHA-256) or 4 (SHA-384)"))
		}
		switch digest, err := hex.DecodeString(ds.Digest); {
		case err != nil:
			errs = append(errs, field.Invalid(path.Child("digest"), cut(ds.Digest), "must be hexadecimal, two digits an octet"))
		case known && len(digest) != octets:
			errs = append(errs, field.Invalid(path.Child("digest"), cut(ds.Digest),
				fmt.Sprintf("has %d octets, and a digest of type %d has %d", len(digest), ds.DigestType, octets)))
		}
		// Hexadecimal digits have no case, so compare in one.
		ds.Digest = strings.ToUpper(ds.Digest)
		if seen[ds] {
			errs = append(errs, field.Duplicate(path, ds.Digest))
		}
		seen[ds] = true
		return errs
	})
}
