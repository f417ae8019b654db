// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
)

func (s *Server) formatPeers() string {
	if s.Peers == nil {
		return ""
	}
	return " " + s.Peers.formatList()
}

// signaturesJitter is BIND's default, and must be less than the validity. Only BIND 9.18.27 and later can change it.
const signaturesJitter = 12 * time.Hour

var signingAlgorithms = []bind9.DNSSECAlgorithm{bind9.DNSSECRSASHA256, bind9.DNSSECECDSAP256SHA256, bind9.DNSSECECDSAP384SHA384,
	bind9.DNSSECED25519}

// named 9.18 aborts on an empty list of keys.
func (c *conf) writePolicy(field string, policy *bind9.DNSSECPolicy) {
	if len(validation.IsDNS1123Label(policy.Name)) > 0 {
		c.fail(field+".name", "is no name of a policy: use lower case letters, digits and hyphens, at most 63")
	}
	signing := cmp.Or(policy.Algorithm, bind9.DNSSECECDSAP256SHA256)
	if !slices.Contains(signingAlgorithms, signing) {
		c.fail(field+".algorithm", "is not one of %q", signingAlgorithms)
	}
	algorithm := strings.ToLower(string(signing))

	lifetime := func(of *metav1.Duration) string {
		if of == nil {
			return "unlimited"
		}
		return formatSeconds(of)
	}

	c.line("dnssec-policy %q {", policy.Name)
	c.line("\tkeys { ksk lifetime %s algorithm %s; zsk lifetime %s algorithm %s; };", lifetime(policy.KSKLifetime), algorithm,
		lifetime(policy.ZSKLifetime), algorithm)
	c.line("\tpurge-keys PT1H;") // named can report about eight keys only, retired ones included
	if policy.NSEC3 {
		c.line("\tnsec3param iterations 0 optout no salt-length 0;")
	}

	if t := policy.Timing; t != nil {
		for _, one := range []struct {
			option string
			value  *metav1.Duration
		}{
			{"dnskey-ttl", t.DNSKEYTTL}, {"max-zone-ttl", t.MaxZoneTTL}, {"parent-ds-ttl", t.ParentDSTTL},
			{"zone-propagation-delay", t.ZonePropagationDelay}, {"parent-propagation-delay", t.ParentPropagationDelay},
			{"publish-safety", t.PublishSafety}, {"retire-safety", t.RetireSafety},
			// A single setting bounds all signatures.
			{"signatures-validity", t.SignaturesValidity}, {"signatures-validity-dnskey", t.SignaturesValidity},
			{"signatures-refresh", t.SignaturesRefresh},
		} {
			if one.value != nil {
				c.line("\t%s %s;", one.option, formatSeconds(one.value))
			}
		}
		if t.SignaturesValidity != nil && t.SignaturesValidity.Duration <= signaturesJitter {
			c.line("\tsignatures-jitter PT0S;")
		}
	}
	c.line("};")
}

func formatSeconds(d *metav1.Duration) string {
	return fmt.Sprintf("PT%dS", int64(d.Duration/time.Second))
}
