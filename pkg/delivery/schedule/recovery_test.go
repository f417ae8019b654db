// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
)

// A class's recovery is noticed at once by a passing health check or another zone's success, else within a minute.
func TestLoop_recoveryIsNoticed(t *testing.T) {
	for _, by := range []string{"health", "another zone", "itself", "an answer that does not tell"} {
		for _, beside := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, beside a refused record %t", by, beside), func(t *testing.T) {
				inScene(t, func(s *scene) {
					other := deliverytest.NewZone(t, "other", "example.net.", s.worker.views)
					s.worker.SetZone(zoneOf("other", "main"))
					if beside {
						s.refuseRRset(mail, refusals["for good"])
					}
					s.beginScene()
					s.failProvider(func(context.Context, deliverytest.Point) error {
						return &delivery.Error{Reason: delivery.ReasonServerUnreachable, Message: "no connection", WholeClass: true}
					})
					s.zone.PutAddresses(map[string]string{"www": "192.0.2.9"})
					other.PutAddresses(map[string]string{"www": "192.0.2.1"})
					passTime(4 * time.Hour)
					if state := s.readState(); state.Ready.Reason != delivery.ReasonServerUnreachable {
						t.Fatalf("%+v", state)
					}
					s.failProvider(nil)
					awaitBoth := func() { // one check a minute, then the waiting zones
						for range 150 {
							if passTime(time.Second); len(s.server.Addresses(other.Header.FQDN)) > 0 &&
								s.server.Addresses(s.zone.Header.FQDN)["www.example.org."] == "192.0.2.9" {
								break
							}
						}
					}
					switch by {
					case "an answer that does not tell":
						s.failProvider(func(_ context.Context, at deliverytest.Point) error {
							if at.Method == "Health" {
								return fmt.Errorf("it answers: %w", delivery.ErrNotProven)
							}
							return nil
						})
						awaitBoth()
					case "health":
						must.Succeed(t, s.worker.Health(s.Context(), "main"))
						synctest.Wait()
					case "itself":
						awaitBoth()
					default:
						// The first zone that succeeds wakes the other.
						for range 60 * 11 {
							passTime(time.Second)
							if len(s.server.Addresses(other.Header.FQDN)) > 0 ||
								s.server.Addresses(s.zone.Header.FQDN)["www.example.org."] == "192.0.2.9" {
								break
							}
						}
					}
					other.Expect(s.server)
					if got := s.server.Addresses(s.zone.Header.FQDN); got["www.example.org."] != "192.0.2.9" {
						t.Errorf("not delivered: %v", got)
					}
				})
			})
		}
	}
}

// A health check may pass although every delivery fails. Such a passed check causes one early retry, not one after
// every check.
func TestLoop_misleadingHealth(t *testing.T) {
	inScene(t, func(s *scene) {
		var tries atomic.Int64
		s.failProvider(func(_ context.Context, at deliverytest.Point) error {
			if at.Method == "Health" {
				return nil
			}
			tries.Add(1)
			return &delivery.Error{Reason: delivery.ReasonAuthenticationFailed, Message: "no", WholeClass: true}
		})
		s.beginScene()
		passTime(time.Hour)
		before := tries.Load()
		for range 60 {
			passTime(time.Minute)
			must.Succeed(t, s.worker.Health(s.Context(), "main"))
		}
		if got := tries.Load() - before; got < 6 || got > 16 {
			t.Errorf("%d tries in an hour; one in ten minutes, and one more for each of these at most", got)
		}
	})
}

// A passing health check does not shorten a Retry-After.
func TestLoop_healthLiftsNoRetryAfter(t *testing.T) {
	inScene(t, func(s *scene) {
		s.failProvider(func(_ context.Context, at deliverytest.Point) error {
			if at.Method == "Health" {
				return nil
			}
			return &delivery.Error{Reason: delivery.ReasonRateLimited, Message: "less", RetryAfter: 20 * time.Minute, WholeClass: true}
		})
		s.beginScene()
		s.failProvider(nil)
		for range 19 {
			passTime(time.Minute)
			must.Succeed(t, s.worker.Health(s.Context(), "main"))
		}
		if len(s.server.Writes()) > 0 {
			t.Error("it was written to before")
		}
		passTime(2 * time.Minute)
		s.zone.Expect(s.server)
	})
}
