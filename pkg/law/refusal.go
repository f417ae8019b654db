// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"regexp"

	"kubi.zone/kubizone/pkg/dns/name"
)

// RefusalKind is the kind of answer that the client gets.
type RefusalKind int

const (
	// Forbidden is 403: the owner of a zone or an administrator could allow it.
	Forbidden RefusalKind = iota
	// Invalid is 422: the object must be different.
	Invalid
	// Duplicate is 422 with cause FieldValueDuplicate (S1.5).
	Duplicate
	// Later is 429: the same request may pass when cascades are through (S8.1).
	Later
	// Unmet is 412: what the request requires is not so (S10.5).
	Unmet
)

// Refusal says which rule refuses a request and what would be right. It is an error so that it can travel. The ledger
// turns it into an API status.
type Refusal struct {
	Kind RefusalKind
	// Field is the path in the object, for Invalid and Duplicate.
	Field string
	Value any
	// Reason is the condition reason when a cascade meets the refusal.
	Reason  string
	Message string
	// Rule is the sentence of docs/semantics.md that Message cites, as S4.8; "": it cites none.
	Rule string
	// Contact is that of the zone of which the owner can lift the refusal; "": the answer names none.
	Contact string
}

func (r *Refusal) Error() string { return r.Message }

func NewForbidden(reason, format string, args ...any) *Refusal {
	return &Refusal{Kind: Forbidden, Reason: reason, Rule: ruleOf(format), Message: fmt.Sprintf(format, args...)}
}

func NewInvalid(field string, value any, reason, format string, args ...any) *Refusal {
	return &Refusal{Kind: Invalid, Field: field, Value: value, Reason: reason, Rule: ruleOf(format), Message: fmt.Sprintf(format, args...)}
}

// NewLater returns a refusal for now: the same request may pass when cascades are through.
func NewLater(reason, format string, args ...any) *Refusal {
	return &Refusal{Kind: Later, Reason: reason, Rule: ruleOf(format), Message: fmt.Sprintf(format, args...)}
}

// cited matches the sentences of docs/semantics.md that a format cites.
var cited = regexp.MustCompile(`\((S\d+\.\d+)\b`)

// ruleOf returns the rule that a format cites last: a format is a sentence of this program, and has nothing of a user.
func ruleOf(format string) string {
	all := cited.FindAllStringSubmatch(format, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1][1]
}

// Reasons of the Adopted and Delegated conditions that the law gives (S2.3, S2.5, S2.9, S3.1–S3.11).
const (
	ReasonAdopted             = "Adopted"
	ReasonAccepted            = "Accepted"
	ReasonZoneNotFound        = "ZoneNotFound"
	ReasonNoEnclosingZone     = "NoEnclosingZone"
	ReasonDelegationWithdrawn = "DelegationWithdrawn"
	ReasonBelowZoneCut        = "BelowZoneCut"
	ReasonZoneTerminating     = "ZoneTerminating"
	ReasonTerminating         = "Terminating"
	ReasonNameHeld            = "NameHeld"
	ReasonCNAMEConflict       = "CNAMEConflict"
	ReasonLimitExceeded       = "LimitExceeded"
	ReasonNameTooLong         = "NameTooLong"
	ReasonValidationFailed    = "ValidationFailed"
	ReasonMoving              = "Moving"
	ReasonStandalone          = "Standalone"
	ReasonDelegated           = "Delegated"
	ReasonNotDelegated        = "NotDelegated"
	ReasonInUse               = "InUse"
	ReasonParentRenamed       = "ParentRenamed"
	ReasonInvalid             = "Invalid"
	ReasonPrerequisite        = "PrerequisiteFailed"
)

// Reasons of warnings, beside those of conditions.
const (
	WarningUnnamedGlue   = "UnnamedGlue"
	WarningUnclaimedHost = "UnclaimedHost"
	WarningAbsentHost    = "AbsentHost"
	WarningTakesAway     = "TakesAway"
)

// ViewOf says which view an object with a zoneRef to z may name (S1.4).
func ViewOf(z *Zone) string {
	if z.View == "" {
		return "must be empty: the zone that zoneRef names is in the default view (S1.4)"
	}
	return fmt.Sprintf("must be empty or %q, the view of the zone that zoneRef names (S1.4)", z.View)
}

func InView(view string) string {
	if view == "" {
		return ""
	}
	return fmt.Sprintf(" of view %q", view)
}

// AbsentMessage says that a zoneRef leads to no zone, in the same words where there is none and where the namespace
// does not know it (S2.3).
func AbsentMessage(target *Ref, namespace string) string {
	if target.Namespace == namespace {
		return fmt.Sprintf("zone %s/%s does not exist yet", target.Namespace, target.Name)
	}
	return fmt.Sprintf("zone %s/%s does not exist, or delegates nothing to namespace %q yet", target.Namespace, target.Name, namespace)
}

// RefuseMoving is for now. Where a cascade is refused so, the object waits as any: the reason Moving is of what stood.
func RefuseMoving(n, zone name.Name) *Refusal {
	return NewLater(ReasonNameHeld, "names at, above or below %s are locked in zone %s "+
		"until Records that move or wait there are in (S2.10; try again in a moment)", n, zone)
}
