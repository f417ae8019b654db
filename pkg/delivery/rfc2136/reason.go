// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rfc2136

import (
	"errors"
	"fmt"
	"io"
	"net"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/transfer"
)

// explainRcode returns the error for an RCODE of an update as a whole (RFC 2136 §2.2), with the next step for a person.
func (w *work) explainRcode(rcode int) *delivery.Error {
	var e *delivery.Error
	switch rcode {
	case mdns.RcodeNotZone, mdns.RcodeNotAuth:
		e = delivery.Errorf(delivery.ReasonZoneNotFound, "%s is no primary of %s; make the zone there, or name the server that has it",
			w.config.Server, w.plan.Zone)
	case mdns.RcodeRefused, mdns.RcodeBadKey:
		e = delivery.Errorf(delivery.ReasonInvalidConfiguration, "%s does not let the key %s update %s; allow it there", w.config.Server,
			w.config.Key.Name, w.plan.Zone)
	case mdns.RcodeNotImplemented:
		e = delivery.Errorf(delivery.ReasonInvalidConfiguration, "%s accepts no updates of %s; switch dynamic updates on there",
			w.config.Server, w.plan.Zone)
	default:
		e = delivery.Errorf(delivery.ReasonServerError, "%s answers an update of %s with an error; its log says why", w.config.Server,
			w.plan.Zone)
	}
	e.Code = mdns.RcodeToString[rcode]
	return e
}

// explainNoAnswer returns the error for a message without a usable answer: a refusal, a broken connection, or a fault
// of the server.
func (w *work) explainNoAnswer(server string, err error) *delivery.Error {
	var refusal *transfer.Refusal
	if errors.As(err, &refusal) {
		return w.explainRefusal(server, refusal)
	}
	// A timeout and a reset connection are a net.Error. A server that closes the connection is none.
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return w.explainUnreachable(server, err)
	}
	return delivery.Errorf(delivery.ReasonServerError, "%s: %w", server, err)
}

// explainRefusal returns the error for a *transfer.Refusal. A wrong key concerns the whole class, other refusals a
// single zone.
func (w *work) explainRefusal(server string, refusal *transfer.Refusal) *delivery.Error {
	reason := delivery.ReasonServerError
	switch {
	case refusal.TSIG != 0:
		reason = delivery.ReasonAuthenticationFailed
	case refusal.Rcode == mdns.RcodeNotAuth, refusal.Rcode == mdns.RcodeNotZone:
		// An error about the key has a TSIG (RFC 8945 §5.2). An error without a TSIG is about the zone (RFC 2136
		// §3.1.1), because Knot looks for the zone first, and cannot sign then.
		reason = delivery.ReasonZoneNotFound
	case refusal.Rcode == mdns.RcodeRefused:
		reason = delivery.ReasonInvalidConfiguration
	}
	e := delivery.Errorf(reason, "%s: %w", server, refusal)
	if reason == delivery.ReasonZoneNotFound {
		e.Message = fmt.Sprintf("%s is no primary of %s; make the zone there, or name the server that has it. "+
			"The answer has no TSIG error (RFC 8945 §5.2): if the zone is there, compare the key too", server,
			w.plan.Zone)
	}
	e.Code = mdns.RcodeToString[refusal.Rcode]
	if refusal.TSIG != 0 {
		e.Code = mdns.RcodeToString[refusal.TSIG]
	}
	e.WholeClass = reason == delivery.ReasonAuthenticationFailed
	return e
}
