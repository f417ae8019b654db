// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
)

// FuzzAnswer (attacks 52, 60): any answer is a success of the protocol, or an error that quotes neither request nor
// answer.
func FuzzAnswer(f *testing.F) {
	f.Add(200, "", []byte(`{"success":true,"message":"ok"}`))
	f.Add(400, "", []byte(`{"success":false,"error":{"code":"INVALID_RECORD","message":"FOREIGN","details":{"a":[]}}}`))
	f.Add(429, "Fri, 31 Dec 9999 23:59:59 GMT", []byte(`{"success":false,"error":{"code":"RATE_LIMITED","message":"FOREIGN"}}`))
	f.Add(404, "-1", []byte(`<html>FOREIGN</html>`))
	f.Add(200, "", []byte(`{"success":true,"error":{"code":"FOREIGN"},"record":{"metadata":{"priority":70000}}}`))
	f.Add(204, "18446744073709551616", []byte{})
	f.Fuzz(func(t *testing.T, status int, retry string, body []byte) {
		got := answer{status: status, header: http.Header{"Retry-After": {retry}}, body: body, secrets: []string{"the secret"}}
		response, isProtocol, failure := got.readResponse()
		if failure == nil {
			if !isProtocol || response.Success == nil || !*response.Success || status/100 != 2 {
				t.Fatalf("%d %s is taken for a success", status, body)
			}
			return
		}
		if failure.Reason == "" || failure.Message == "" || failure.RetryAfter < 0 || failure.RetryAfter > maxRetryAfter {
			t.Fatalf("%d %s: %+v", status, body, failure)
		}
		if strings.Contains(failure.Error(), "FOREIGN") {
			t.Fatalf("%d %s is repeated: %v", status, body, failure)
		}
		if failure.Err != nil && strings.Contains(failure.Err.Error(), "the secret") {
			t.Fatalf("%d %s: the log would have the secret: %v", status, body, failure.Err)
		}
		if failure.Permanent && failure.Reason != delivery.ReasonValidationFailed || failure.RetryAfter > time.Hour {
			t.Fatalf("%d %s stops for good: %+v", status, body, failure)
		}
	})
}
