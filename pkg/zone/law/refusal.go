// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"regexp"

	"kubi.zone/kubizone/pkg/dns/name"
)

// RefusalKind determines the HTTP status code of the response.
type RefusalKind int

const (
	// Forbidden is 403: an owner or administrator could allow the request.
	Forbidden RefusalKind = iota
	// Invalid is 422: the object must be different.
	Invalid
	// Duplicate is 422 with cause FieldValueDuplicate.
	Duplicate
	// Later is 429: the same request may pass after cascades.
	Later
	// Unmet is 412: a prerequisite is not met.
	Unmet
)

// Refusal is the reason why a request is refused, with the broken rule and a remedy.
type Refusal struct {
	Kind RefusalKind
	// Field is the path in the object, such as "spec.domainName", and Value the value there. Only Invalid, Duplicate
	// and Unmet have them.
	Field string
	Value any
	// Reason is for the object's condition if a background job (cascade) makes the decision, and no client waits.
	Reason  string
	Message string
	// Rule is cited in Message, such as "S4.8", or "".
	Rule string
	// Contact is spec.contact of the zone whose owner can allow the request, or "".
	Contact string
	// HeldAt and HeldBelow are the names, relative to the zone, whose data are in the way: with the reason NameHeld the
	// claims at HeldAt and below HeldBelow, with CNAMEConflict the values at HeldAt. Zero if other facts refuse.
	HeldAt, HeldBelow name.Rel
}

// By notes that data at a name are in the way, and returns the refusal.
func (r *Refusal) By(at name.Rel) *Refusal {
	r.HeldAt = at
	return r
}

func (r *Refusal) Error() string { return r.Message }

func (r *Refusal) Sentence() string {
	if r.Contact == "" {
		return r.Message
	}
	return r.Message + "; contact of the zone: " + r.Contact
}

func NewForbidden(reason, format string, args ...any) *Refusal {
	return &Refusal{Kind: Forbidden, Reason: reason, Rule: ruleOf(format), Message: fmt.Sprintf(format, args...)}
}

func NewInvalid(field string, value any, reason, format string, args ...any) *Refusal {
	return &Refusal{Kind: Invalid, Field: field, Value: value, Reason: reason, Rule: ruleOf(format), Message: fmt.Sprintf(format, args...)}
}

func NewLater(reason, format string, args ...any) *Refusal {
	return &Refusal{Kind: Later, Reason: reason, Rule: ruleOf(format), Message: fmt.Sprintf(format, args...)}
}

var cited = regexp.MustCompile(`\((S\d+\.\d+)\b`)

func ruleOf(format string) string {
	all := cited.FindAllStringSubmatch(format, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1][1]
}

func Cite(rule, text string) string {
	if rule == "" {
		return text
	}
	return text + " (" + rule + ")"
}

const (
	ReasonAdopted             = "Adopted"
	ReasonAccepted            = "Accepted"
	ReasonZoneNotFound        = "ZoneNotFound"
	ReasonNoEnclosingZone     = "NoEnclosingZone"
	ReasonDelegationWithdrawn = "DelegationWithdrawn"
	ReasonBelowZoneCut        = "BelowZoneCut"
	ReasonZoneTerminating     = "ZoneTerminating"
	ReasonTerminating         = "Terminating"
	ReasonExpired             = "Expired"
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

const (
	WarningUnnamedGlue   = "UnnamedGlue"
	WarningCut           = "Cut"
	WarningOccludes      = "Occludes"
	WarningUnclaimedHost = "UnclaimedHost"
	WarningAbsentHost    = "AbsentHost"
	WarningTakesAway     = "TakesAway"
)

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

// AbsentMessage returns the same message for an absent zone and for a zone closed to a tenant.
func AbsentMessage(target *Ref, namespace string) string {
	if target.Namespace == namespace {
		return fmt.Sprintf("zone %s/%s does not exist yet", target.Namespace, target.Name)
	}
	return fmt.Sprintf("zone %s/%s does not exist, or delegates nothing to namespace %q yet", target.Namespace, target.Name, namespace)
}

func RefuseMoving(n, zone name.Name) *Refusal {
	return NewLater(ReasonNameHeld, "names at, above or below %s are locked in zone %s "+
		"until Records that move there are in (S2.10; try again in a moment)", n, zone)
}
