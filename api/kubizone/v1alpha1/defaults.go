// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "time"

// Defaults in seconds (S6.6), named by the `+default` markers. A class may set a default ttl.
const (
	DefaultTTL                   int32 = 360
	DefaultRefresh               int32 = 86400
	DefaultRetry                 int32 = 7200
	DefaultExpire                int32 = 3600000
	DefaultNegativeResponseCache int32 = 360
)

// DefaultWithdrawalGracePeriod is the withdrawalGracePeriod of a Zone (S3.6).
const DefaultWithdrawalGracePeriod = 24 * time.Hour

// DefaultMaxDeletePercent is the default of spec.limits.maxDeletePercent (S7.5). See pkg/zone/law/deletions.go.
const DefaultMaxDeletePercent = 30

// MaxDeletePercentOf returns the default if limits are nil or have none.
func MaxDeletePercentOf(limits *ZoneLimits) int64 {
	if limits == nil || limits.MaxDeletePercent == nil {
		return DefaultMaxDeletePercent
	}
	return int64(*limits.MaxDeletePercent)
}

// DefaultDriftInterval is the driftInterval of a DNSClass.
const DefaultDriftInterval = time.Hour

// RRClass is a DNS class.
// +enum
type RRClass string

// ClassIN is the only supported DNS class (S5.5).
const ClassIN RRClass = "IN"

// DefaultWebhookTimeout is in seconds.
const DefaultWebhookTimeout int32 = 30

// Author returns the user of a change with the field manager, the cause of a cascade, or "another namespace" if the
// reader of the step may not know the user.
func (s *HistoryStep) Author() string {
	switch {
	case s.Cause != "":
		return s.Cause
	case s.Way == WayRestore:
		return "kubizone restore"
	case s.By == "":
		return "another namespace"
	case s.FieldManager != "":
		return s.By + " (" + s.FieldManager + ")"
	}
	return s.By
}
