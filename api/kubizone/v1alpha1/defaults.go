// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// Defaults of S6.3, in seconds. The `+default` markers of the fields name them, and the code that sets them is
// generated. The server sets the ttl, for which classes may have a default.
const (
	DefaultTTL                   int32 = 360
	DefaultRefresh               int32 = 86400
	DefaultRetry                 int32 = 7200
	DefaultExpire                int32 = 3600000
	DefaultNegativeResponseCache int32 = 360
)

// The withdrawalGracePeriod of a Zone (S3.4).
const (
	DefaultWithdrawalGracePeriod = 24 * time.Hour
	MaxWithdrawalGracePeriod     = 30 * 24 * time.Hour
)

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

// The driftInterval of a DNSClass.
const (
	DefaultDriftInterval = time.Hour
	MinDriftInterval     = time.Minute
	MaxDriftInterval     = 7 * 24 * time.Hour
)

// MaxVerifyRequest is the maximum length, in octets, of the annotation of a Zone that requests a comparison.
const MaxVerifyRequest = 64

// RRClass is a DNS class.
// +enum
type RRClass string

// ClassIN is the only DNS class there is here (S5.4).
const ClassIN RRClass = "IN"

// DefaultWebhookTimeout bounds one request to a webhook, in seconds.
const DefaultWebhookTimeout int32 = 30

// MaxWebhookTimeout is the maximum duration of one call of a provider, in seconds. After a crash of a controller its
// last writes are repeated when its calls cannot arrive any more, so longer calls would mean a longer wait.
const MaxWebhookTimeout = 30

func addDefaultingFuncs(scheme *runtime.Scheme) error {
	return RegisterDefaults(scheme)
}
