// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apis/rrsets"
)

// ErrStopped means that a revert stopped at a refusal. Written changes stay, and a repetition continues.
type ErrStopped struct{ Reason string }

func (e ErrStopped) Error() string { return e.Reason }

func (r *Reader) createObject(ctx context.Context, x *Restoral, dryRun []string) (refused []string, err error) {
	_, err = rrsets.Retry(ctx, func() (struct{}, error) { return struct{}{}, x.create(ctx, dryRun) })
	var answer apierrors.APIStatus
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil, nil
	case errors.As(err, &answer) && answer.Status().Code/100 == 4 && !apierrors.IsTooManyRequests(err):
		return []string{refusal.Messages(refusal.Of(err))}, nil
	case err != nil:
		return nil, fmt.Errorf("%s %s/%s: %w", strings.ToLower(x.Kind), x.Namespace, x.Name, err)
	}
	return nil, nil
}

const (
	settleWait  = 10 * time.Minute
	settleEvery = 300 * time.Millisecond
)

func (r *Reader) runObjects(ctx context.Context, p *Plan) error {
	// Delegations come before the Zone, because its first cascade (the adoption of Records) needs all rules.
	for i := range slices.Backward(p.Objects) {
		x := &p.Objects[i]
		refused, err := r.createObject(ctx, x, nil)
		if x.Refused = refused; err != nil {
			return err
		}
		if len(refused) > 0 {
			return ErrStopped{fmt.Sprintf("%s %s/%s: %s", strings.ToLower(x.Kind), x.Namespace, x.Name, strings.Join(refused, "; "))}
		}
		p.Written++
		if x.Kind != "Zone" {
			continue
		}
		if err := r.waitForZone(ctx, p, x); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) waitForZone(ctx context.Context, p *Plan, x *Restoral) error {
	for until := time.Now().Add(settleWait); ; {
		zone, err := rrsets.Retry(ctx, func() (*v1alpha1.Zone, error) {
			return r.Client.Zones(x.Namespace).Get(ctx, x.Name, metav1.GetOptions{})
		})
		if err != nil {
			return fmt.Errorf("zone %s/%s: %w", x.Namespace, x.Name, err)
		}
		awaited, isFinal := awaitedBy(zone, p.FQDN)
		switch {
		case awaited == "":
			return nil
		case isFinal, time.Now().After(until):
			return ErrStopped{fmt.Sprintf("zone %s/%s %s", x.Namespace, x.Name, awaited)}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(settleEvery):
		}
	}
}

// awaitedBy returns what a restored Zone waits for before its Records, "" for nothing. isFinal is true if no wait
// helps.
func awaitedBy(zone *v1alpha1.Zone, fqdn string) (awaited string, isFinal bool) {
	switch {
	case zone.Status.FQDN == "":
		return "waits for its parent zone, as its condition Delegated says",
			meta.IsStatusConditionFalse(zone.Status.Conditions, v1alpha1.ConditionDelegated)
	case zone.Status.FQDN != fqdn:
		return "has another name meanwhile: " + zone.Status.FQDN, true
	case !isSettled(zone):
		return "still takes in Records", false
	}
	return "", false
}

// isSettled reports whether the first cascade has ended. A zone held after a mass deletion settles by its Records
// alone.
func isSettled(zone *v1alpha1.Zone) bool {
	settled := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionSettled)
	return settled != nil && (settled.Status == metav1.ConditionTrue || settled.Reason == v1alpha1.ReasonMassDeletion)
}
