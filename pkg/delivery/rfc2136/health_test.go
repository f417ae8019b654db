// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rfc2136

import (
	"encoding/base64"
	"errors"
	"net"
	"strings"
	"testing"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/test/must"
)

// Found 7: SERVFAIL, REFUSED, NOTIMP and BADTIME do not prove that the key works.
func TestHealth_isNotAnyAnswer(t *testing.T) {
	octets := must.Get(base64.StdEncoding.DecodeString(rigKey.Secret))(t)
	key := keyOf(t, rigKey)
	for what, c := range map[string]struct {
		rcode, tsig int
		signed      bool
		want        delivery.Reason // empty: healthy; "?": not proven
	}{
		"SERVFAIL":         {rcode: mdns.RcodeServerFailure, want: delivery.ReasonServerError},
		"NOTIMP":           {rcode: mdns.RcodeNotImplemented, want: delivery.ReasonServerError},
		"FORMERR":          {rcode: mdns.RcodeFormatError, want: delivery.ReasonServerError},
		"REFUSED":          {rcode: mdns.RcodeRefused, want: "?"},
		"NOTAUTH":          {rcode: mdns.RcodeNotAuth, want: "?"},
		"no signature":     {want: "?"},
		"BADTIME":          {rcode: mdns.RcodeNotAuth, tsig: mdns.RcodeBadTime, signed: true, want: delivery.ReasonAuthenticationFailed},
		"SERVFAIL, signed": {rcode: mdns.RcodeServerFailure, signed: true, want: delivery.ReasonServerError},
		"REFUSED, signed":  {rcode: mdns.RcodeRefused, signed: true},
	} {
		listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		server := &mdns.Server{
			Listener: listener, TsigSecret: map[string]string{key.Name: base64.StdEncoding.EncodeToString(octets)},
			Handler: mdns.HandlerFunc(func(w mdns.ResponseWriter, question *mdns.Msg) {
				answer := new(mdns.Msg).SetRcode(question, c.rcode)
				if signed := question.IsTsig(); signed != nil && c.signed {
					answer.SetTsig(signed.Hdr.Name, signed.Algorithm, 300, int64(signed.TimeSigned))
					answer.IsTsig().Error = uint16(c.tsig)
				}
				w.WriteMsg(answer)
			}),
		}
		go server.ActivateAndServe()
		t.Cleanup(func() { server.Shutdown() })
		p := must.Get(New(Config{Server: listener.Addr().String(), Key: key, Dial: anywhere}))(t)
		err := p.Health(t.Context())
		var e *delivery.Error
		switch {
		case c.want == "" && err == nil, c.want == "?" && errors.Is(err, delivery.ErrNotProven):
		case errors.As(err, &e) && e.Reason == c.want:
		default:
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: two lines: %q", what, err)
		}
		// After a delivery, each answer except the signed REFUSED is a fault.
		p.lastZone = makeZone(t).planFull(1).Zone
		if err := p.Health(t.Context()); c.want != "" && !errors.As(err, &e) {
			t.Errorf("%s, with a zone: %v", what, err)
		}
	}
}
