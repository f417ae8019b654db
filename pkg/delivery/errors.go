// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"
)

type Reason string

const (
	ReasonServerUnreachable    Reason = "ServerUnreachable"
	ReasonServerError          Reason = "ServerError"
	ReasonAuthenticationFailed Reason = "AuthenticationFailed"
	ReasonSecretNotFound       Reason = "SecretNotFound"
	ReasonInvalidConfiguration Reason = "InvalidConfiguration"
	ReasonValidationFailed     Reason = "ValidationFailed"
	ReasonZoneNotFound         Reason = "ZoneNotFound"
	ReasonConflict             Reason = "Conflict"
	ReasonRateLimited          Reason = "RateLimited"
	ReasonQuotaExceeded        Reason = "QuotaExceeded"
	ReasonSerialBehind         Reason = "SerialBehind"
	ReasonServerWentBack       Reason = "ServerWentBack"
	// ReasonContentDiffers is for a server with the zone's serial, but other data.
	ReasonContentDiffers Reason = "ContentDiffers"
)

const (
	ReasonDelivered Reason = "Delivered"
	// ReasonAllInstancesConfigured replaces Delivered in a class with Servers.
	ReasonAllInstancesConfigured Reason = "AllInstancesConfigured"
	ReasonPending                Reason = "Pending"
	ReasonCompared               Reason = "Compared"
	ReasonDriftFound             Reason = "DriftFound"
	ReasonCannotList             Reason = "CannotList"
	ReasonInternalError          Reason = "InternalError"
)

type Error struct {
	Reason Reason
	// Code is the provider's code, for example an rcode or HTTP status; "" means none.
	Code string
	// Message is for users, without secrets or text of the provider.
	Message string
	// Detail is the provider's text for operators: printable, short, without secrets.
	Detail string
	// Permanent prevents retries until the zone, class or credentials change, or Zone.Request asks. Comparisons still
	// retry refused RRsets.
	Permanent bool
	// RetryAfter is the delay before a retry; 0 means the usual backoff.
	RetryAfter time.Duration
	WholeClass bool
	Err        error
}

func (e *Error) Error() string {
	text := string(e.Reason)
	if e.Code != "" {
		text += " (" + e.Code + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

func Errorf(reason Reason, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Reason: reason, Message: err.Error(), Err: errors.Unwrap(err)}
}

var ErrCannotList = errors.New("the provider cannot list its data")

// ErrNotProven means a health check without a fault, but also without proof of access.
var ErrNotProven = errors.New("the first zone shows it")

var ErrFenced = errors.New("another worker delivers the zone")

// AsError drops the text of other errors, because it may contain a secret.
func AsError(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e) && e != nil:
		return e
	// A provider may return the context's own error: the server was silent until the deadline.
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &Error{Reason: ReasonServerUnreachable, Message: "no answer in time", Err: err}
	}
	return &Error{Reason: ReasonInternalError, Message: "the provider failed without an explanation; the controller's log has the " +
		"error", Err: err}
}
