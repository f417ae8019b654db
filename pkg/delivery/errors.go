// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Reason is what a condition Ready says when a class does not deliver. They are API.
type Reason string

// Reasons that providers give.
const (
	// ReasonServerUnreachable means that there was no connection, or no answer in time.
	ReasonServerUnreachable Reason = "ServerUnreachable"
	// ReasonServerError means that the server answered that it could not, or sent no valid answer.
	ReasonServerError Reason = "ServerError"
	// ReasonAuthenticationFailed means that the server does not let us in.
	ReasonAuthenticationFailed Reason = "AuthenticationFailed"
	// ReasonSecretNotFound means that the class names a Secret, or a key in one, that is missing or empty.
	ReasonSecretNotFound Reason = "SecretNotFound"
	// ReasonInvalidConfiguration means that the class cannot work as it is.
	ReasonInvalidConfiguration Reason = "InvalidConfiguration"
	// ReasonValidationFailed means that the provider refuses data, or has no form for it.
	ReasonValidationFailed Reason = "ValidationFailed"
	// ReasonZoneNotFound means that the provider does not have the zone and cannot make it.
	ReasonZoneNotFound Reason = "ZoneNotFound"
	// ReasonConflict means that another zone or another cluster has the name at the provider.
	ReasonConflict Reason = "Conflict"
	// ReasonRateLimited and ReasonQuotaExceeded: the provider wants less.
	ReasonRateLimited   Reason = "RateLimited"
	ReasonQuotaExceeded Reason = "QuotaExceeded"
	// ReasonSerialBehind means that a server holds a serial ahead of the zone's (S6.11).
	ReasonSerialBehind Reason = "SerialBehind"
)

// CodeSigned is the code of a SerialBehind that rests on two signed answers of the server (S6.11).
const CodeSigned = "TSIG"

// Reasons that the loop gives.
const (
	// ReasonDelivered means that everything in the class has confirmed the serial.
	ReasonDelivered Reason = "Delivered"
	// ReasonAllInstancesConfigured is Delivered of a class whose servers come and go: each that it has now, and that
	// has a row, has confirmed the serial.
	ReasonAllInstancesConfigured Reason = "AllInstancesConfigured"
	// ReasonPending means that the serial is written and servers are still on their way to it, or that it is not
	// begun yet.
	ReasonPending Reason = "Pending"
	// ReasonCompared, ReasonDriftFound and ReasonCannotList are those of the condition Drifted.
	ReasonCompared   Reason = "Compared"
	ReasonDriftFound Reason = "DriftFound"
	ReasonCannotList Reason = "CannotList"
	// ReasonInternalError means that the provider crashed on this zone. The log says where; the other zones go on.
	ReasonInternalError Reason = "InternalError"
)

// Error is what went wrong at a provider, in a form that decides when it is tried again and what the user reads.
type Error struct {
	Reason Reason
	// Code is the provider's own, such as an rcode or an HTTP status; empty without one.
	Code string
	// Message is for people: what happened and the next step. It holds no secret and nothing of a foreign answer's
	// body.
	Message string
	// Said is what the provider itself says of it, in its own words: printable, short, without a secret. It goes to
	// operators alone, into the log and the status of a class (S6.13).
	Said string
	// Permanent says that it is not tried again before the zone, the class or its credentials change, or a comparison
	// is asked for (Zone.Request); an RRset that was refused so, with each comparison too.
	Permanent bool
	// RetryAfter is how long the provider wants to be left alone, 0: the usual backoff.
	RetryAfter time.Duration
	// WholeClass says that it concerns every zone of the class, which waits with it.
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

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error; a cause among the arguments (%w) is kept.
func Errorf(reason Reason, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Reason: reason, Message: err.Error(), Err: errors.Unwrap(err)}
}

// ErrCannotList says that the provider has no way to say what it holds.
var ErrCannotList = errors.New("the provider cannot say what it holds")

// ErrNotProven says that no fault is known, and nothing proves that the provider lets us in. The text of
// what wraps it is for people.
var ErrNotProven = errors.New("the first zone shows it")

// ErrFenced says that a later plan of the zone is under way elsewhere.
var ErrFenced = errors.New("another worker delivers the zone")

// AsError is the one border where errors of providers become what users read. An error that is not in the
// contract's form may hold a secret: it goes into the log only.
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
