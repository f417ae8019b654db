// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Reason of a condition Ready that is not True. Reasons are API.
type Reason string

// Reasons of providers.
const (
	// ReasonServerUnreachable means no connection, or no answer in time.
	ReasonServerUnreachable Reason = "ServerUnreachable"
	// ReasonServerError means an answer of failure, or no valid answer.
	ReasonServerError Reason = "ServerError"
	// ReasonAuthenticationFailed means that the server rejects the credentials.
	ReasonAuthenticationFailed Reason = "AuthenticationFailed"
	// ReasonSecretNotFound means that a Secret of the class, or a key there, is missing or empty.
	ReasonSecretNotFound Reason = "SecretNotFound"
	// ReasonInvalidConfiguration means that the class cannot work as configured.
	ReasonInvalidConfiguration Reason = "InvalidConfiguration"
	// ReasonValidationFailed means that the provider refuses data, or has no form for it.
	ReasonValidationFailed Reason = "ValidationFailed"
	// ReasonZoneNotFound means that the provider does not have the zone and cannot create zones.
	ReasonZoneNotFound Reason = "ZoneNotFound"
	// ReasonConflict means that another zone or cluster has the name at the provider.
	ReasonConflict Reason = "Conflict"
	// ReasonRateLimited and ReasonQuotaExceeded mean that the provider asks for fewer calls or less data.
	ReasonRateLimited   Reason = "RateLimited"
	ReasonQuotaExceeded Reason = "QuotaExceeded"
	// ReasonSerialBehind means that a server has a serial ahead of the zone's (S6.11).
	ReasonSerialBehind Reason = "SerialBehind"
)

// CodeSigned is the code of a SerialBehind proven by two signed answers of the server (S6.11).
const CodeSigned = "TSIG"

// Reasons of the Loop.
const (
	// ReasonDelivered means that everything in the class confirmed the serial.
	ReasonDelivered Reason = "Delivered"
	// ReasonAllInstancesConfigured is Delivered for a class with changing servers: every present server with a row
	// has confirmed the serial.
	ReasonAllInstancesConfigured Reason = "AllInstancesConfigured"
	// ReasonPending means that servers have not fetched the serial yet, or that the delivery has not begun.
	ReasonPending Reason = "Pending"
	// Reasons of the condition Drifted.
	ReasonCompared   Reason = "Compared"
	ReasonDriftFound Reason = "DriftFound"
	ReasonCannotList Reason = "CannotList"
	// ReasonInternalError means that the provider crashed on this zone. The log has the stack; other zones go on.
	ReasonInternalError Reason = "InternalError"
)

// Error is a failure of a provider, with the data for the retry and the text for the user.
type Error struct {
	Reason Reason
	// Code is the provider's own, such as an rcode or an HTTP status; empty for none.
	Code string
	// Message tells people the failure and the next step, without a secret, and nothing of a foreign answer's body.
	Message string
	// Said is the provider's own text: printable, short, without a secret. Only operators see it, in the log and in
	// the status of a class (S6.13).
	Said string
	// Permanent: no retry before the zone, the class or its credentials change, or a comparison is requested
	// (Zone.Request). A permanently refused RRset is also retried with each comparison.
	Permanent bool
	// RetryAfter is the delay requested by the provider; 0: the usual backoff.
	RetryAfter time.Duration
	// WholeClass: all zones of the class are affected, and wait.
	WholeClass bool
	// Err is the cause, for the log.
	Err error
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

// Errorf returns an Error. A cause among the arguments (%w) is kept.
func Errorf(reason Reason, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Reason: reason, Message: err.Error(), Err: errors.Unwrap(err)}
}

// ErrCannotList means that the provider cannot list its content.
var ErrCannotList = errors.New("the provider cannot say what it holds")

// ErrNotProven means that no fault is known, but nothing proves the access. The text of a wrapping error is for
// people.
var ErrNotProven = errors.New("the first zone shows it")

// ErrFenced means that another worker is delivering a later plan of the zone.
var ErrFenced = errors.New("another worker delivers the zone")

// AsError returns the *Error in err. Any other error may contain a secret, and is replaced: users read a general
// message, and only the log has err.
func AsError(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e) && e != nil:
		return e
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &Error{Reason: ReasonServerUnreachable, Message: "no answer in time", Err: err}
	}
	return &Error{Reason: ReasonInternalError, Message: "the provider failed in a way that it does not explain; " +
		"the controller's log has the error", Err: err}
}
