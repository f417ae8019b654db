// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/pkg/zone/lawform"
)

// ZoneAsk converts a Zone write to the input of a decision. The Zone before is nil for a creation, and the Zone after
// for a deletion. If the new spec does not parse, the error is a law.Refusal. Other errors concern the stored Zone.
func ZoneAsk(before, after *v1alpha1.Zone) (ask zones.ZoneInput, err error) {
	if before != nil {
		if ask.Before, err = lawform.Zone(before); err != nil {
			return ask, err
		}
		ask.Annotated = before.Annotations[v1alpha1.AnnotationDelete] == string(before.UID)
		if ask.Before.Pending {
			// A zone without a name waits, for the Zone of its zoneRef or for a rule.
			spec, err := lawform.ZoneSpec(before)
			if err != nil {
				return ask, err
			}
			ask.WaitingBefore = spec.Waiting()
		}
	}

	if after == nil {
		return ask, nil
	}
	if ask.After, err = lawform.ZoneSpec(after); err != nil {
		return ask, &law.Refusal{Kind: law.Invalid, Message: err.Error()}
	}

	if before != nil {
		ask.Renames = RenamedField(before, after)
	}
	return ask, nil
}

// DelegationAsk converts a Delegation write to the input of a decision. The Delegation before is nil for a creation,
// and the Delegation after for a deletion. If the new spec does not parse, the error is a law.Refusal. Other errors
// concern the stored Delegation.
func DelegationAsk(before, after *v1alpha1.Delegation) (ask zones.DelegationInput, err error) {
	if before != nil {
		ask.Ref = law.Ref{Namespace: before.Namespace, Name: before.Name, UID: string(before.UID)}
		if ask.Before, err = lawform.DelegationSpec(before); err != nil {
			return ask, fmt.Errorf("delegation %s/%s: %w", before.Namespace, before.Name, err)
		}
		if in := before.Status.ZoneRef; in != nil {
			ask.InZone = string(in.UID)
		} else {
			// Not in force: the Delegation waits for its Zone to take the rule.
			ask.WaitingBefore = &law.Waiting{Zone: &law.Ref{Namespace: before.Namespace, Name: ask.Before.Zone}}
		}
	}
	if after != nil {
		ask.Ref = law.Ref{Namespace: after.Namespace, Name: after.Name, UID: string(after.UID)}
		if ask.After, err = lawform.DelegationSpec(after); err != nil {
			return ask, &law.Refusal{Kind: law.Invalid, Message: err.Error()}
		}
	}
	return ask, nil
}
