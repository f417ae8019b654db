// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/test/deliverytest"
)

// A class that works again is noticed at once: by a health check that passes, and by what succeeds for another zone;
// by itself within a minute.
func TestLoop_recoveryIsNoticed(t *testing.T) {
	for _, by := range []string{"health", "another zone", "itself", "an answer that does not tell"} {
		for _, beside := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, beside a refused record %t", by, beside), func(t *testing.T) {
				inScene(t, func(s *scene) {
					other := newWriter(t, "other", "example.net.", s.worker.views)
					s.worker.SetZone(zoneOf("other", "main"))
					if beside {
						s.refuse(mail, refusals["for good"])
					}
					s.start()
					s.fault(func(context.Context, deliverytest.Point) error {
						return &delivery.Error{Reason: delivery.ReasonServerUnreachable, Message: "no connection", WholeClass: true}
					})
					s.zone.put(map[string]string{"www": "192.0.2.9"})
					other.put(map[string]string{"www": "192.0.2.1"})
					after(4 * time.Hour)
					if state := s.state(); state.Ready.Reason != delivery.ReasonServerUnreachable {
						t.Fatalf("%+v", state)
					}
					s.fault(nil)
					switch by {
					case "an answer that does not tell":
						s.fault(func(_ context.Context, at deliverytest.Point) error {
							if at.Method == "Health" {
								return fmt.Errorf("it answers: %w", delivery.ErrNotProven)
							}
							return nil
						})
						after(61 * time.Second)
					case "health":
						if err := s.worker.Health(s.Context(), "main"); err != nil {
							t.Fatal(err)
						}
						synctest.Wait()
					case "itself":
						after(61 * time.Second)
					default:
						// Whichever of both is tried first brings the other one with it.
						for range 60 * 11 {
							after(time.Second)
							if len(stands(s.server, other.header.FQDN)) > 0 || stands(s.server, s.zone.header.FQDN)["www.example.org."] == "192.0.2.9" {
								break
							}
						}
					}
					other.expect(s.server)
					if got := stands(s.server, s.zone.header.FQDN); got["www.example.org."] != "192.0.2.9" {
						t.Errorf("not delivered: %v", got)
					}
				})
			})
		}
	}
}

// A health check that passes where deliveries fail is believed once, and then not before the class would be tried
// anyway.
func TestLoop_misleadingHealth(t *testing.T) {
	inScene(t, func(s *scene) {
		var mu sync.Mutex
		tries := 0
		s.fault(func(_ context.Context, at deliverytest.Point) error {
			if at.Method == "Health" {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			tries++
			return &delivery.Error{Reason: delivery.ReasonAuthenticationFailed, Message: "no", WholeClass: true}
		})
		s.start()
		after(time.Hour)
		mu.Lock()
		before := tries
		mu.Unlock()
		for range 60 {
			after(time.Minute)
			if err := s.worker.Health(s.Context(), "main"); err != nil {
				t.Fatal(err)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if got := tries - before; got < 6 || got > 16 {
			t.Errorf("%d tries in an hour; one in ten minutes, and one more for each of these at most", got)
		}
	})
}

// The Retry-After of a provider is kept, whatever its health is.
func TestLoop_healthLiftsNoRetryAfter(t *testing.T) {
	inScene(t, func(s *scene) {
		s.fault(func(_ context.Context, at deliverytest.Point) error {
			if at.Method == "Health" {
				return nil
			}
			return &delivery.Error{Reason: delivery.ReasonRateLimited, Message: "less", RetryAfter: 20 * time.Minute, WholeClass: true}
		})
		s.start()
		s.fault(nil)
		for range 19 {
			after(time.Minute)
			if err := s.worker.Health(s.Context(), "main"); err != nil {
				t.Fatal(err)
			}
		}
		if len(s.server.Writes()) > 0 {
			t.Error("it was written to before")
		}
		after(2 * time.Minute)
		s.zone.expect(s.server)
	})
}
