// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updatekey

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law/pattern"
	"kubi.zone/kubizone/pkg/refusal"
)

// maxRulesTime bounds the reading of rules. After it there is no Warning.
const maxRulesTime = time.Second

// warnOfPatterns warns of each pattern of an UpdateKey that no rule for the key's namespace matches: every zone refuses
// the key's updates of such names (S13.1).
func warnOfPatterns(ctx context.Context, list ListRules, key *v1alpha1.UpdateKey) {
	within, cancel := context.WithTimeout(ctx, maxRulesTime)
	defer cancel()
	rules, ok := list(within, key.Namespace)
	if !ok {
		return
	}
	for i, r := range key.Spec.Records {
		if !slices.ContainsFunc(rules, func(rule v1alpha1.NameReviewRule) bool {
			return rule.View == key.Spec.View && !rule.Elsewhere && mayMeet(r.Pattern, &rule)
		}) {
			warning.AddWarning(ctx, v1alpha1.WarningNoRules, refusal.Warning("S13.1", fmt.Sprintf("spec.records[%d].pattern: no rule "+
				"gives namespace %s a name that %q matches, so updates of such names are REFUSED; kubectl kubizone names -n %s lists its "+
				"rules, and the owner of a zone adds one", i, key.Namespace, r.Pattern, key.Namespace)))
		}
	}
}

// mayMeet reports whether a rule may give a name of an absolute pattern, by the labels after the last "*" of both.
func mayMeet(text string, rule *v1alpha1.NameReviewRule) bool {
	zone, _ := name.Parse(rule.Zone) // parsed before it was stored
	wanted, err := pattern.Parse(text)
	if err != nil || !wanted.CanMatch(zone) {
		return false
	}
	only, literal := wanted.Only(zone)
	tail := name.Apex
	if at, err := name.Parse(behindStar(text)); err == nil {
		if below, ok := at.Rel(zone); ok { // else above the zone
			tail = below
		}
	}
	return slices.ContainsFunc(rule.Records, func(r v1alpha1.RecordDelegation) bool {
		given, err := pattern.Parse(r.Pattern)
		switch {
		case err != nil:
			return false
		case literal:
			return given.Match(only, zone)
		default:
			return given.MayMatchBelow(tail, zone)
		}
	})
}

func behindStar(text string) string {
	at := strings.LastIndexByte(text, '*')
	_, behind, _ := strings.Cut(text[at+1:], ".")
	if at < 0 {
		return text
	} else if behind == "" {
		return "."
	}
	return behind
}
