// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "time"

// Defaults of S6.6, in seconds. The `+default` markers of the fields name them, and the server sets them.
// The ttl has no marker, because classes may have a default for it.
const (
	DefaultTTL                   int32 = 360
	DefaultRefresh               int32 = 86400
	DefaultRetry                 int32 = 7200
	DefaultExpire                int32 = 3600000
	DefaultNegativeResponseCache int32 = 360
)

// DefaultWithdrawalGracePeriod is the withdrawalGracePeriod of a Zone that names none (S3.6).
const DefaultWithdrawalGracePeriod = 24 * time.Hour

// DefaultMaxDeletePercent is the share of a zone's RRsets that its own namespace may remove within ten minutes where
// spec.limits does not say another (S7.5). The other two numbers of that rule, ten RRsets and ten minutes, are
// constants in pkg/law/deletions.go.
const DefaultMaxDeletePercent = 30

// MaxDeletePercentOf is the share that a zone with these limits, which may be nil, has.
func MaxDeletePercentOf(limits *ZoneLimits) int64 {
	if limits == nil || limits.MaxDeletePercent == nil {
		return DefaultMaxDeletePercent
	}
	return int64(*limits.MaxDeletePercent)
}

// DefaultDriftInterval is the driftInterval of a DNSClass that names none.
const DefaultDriftInterval = time.Hour

// RRClass is a DNS class.
// +enum
type RRClass string

// ClassIN is the only DNS class there is here (S5.5).
const ClassIN RRClass = "IN"

// DefaultWebhookTimeout bounds one request to a webhook, in seconds.
const DefaultWebhookTimeout int32 = 30
