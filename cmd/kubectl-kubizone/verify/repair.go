// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/verify"
)

const FieldManager = "kubizone-verify"

var ErrNotRepaired = errors.New("not every class repaired the zone: see above")

const repairTime = 2 * time.Minute

const repairPoll = 250 * time.Millisecond

// requestRepair annotates the Zone: the controller then compares and repairs each class. It waits up to repairTime.
// ErrNotRepaired means a class without a repair, with a remark each.
func requestRepair(ctx context.Context, r *verify.Comparison) error {
	request := time.Now().UTC().Format(time.RFC3339Nano)
	annotations := map[string]string{v1alpha1.AnnotationVerifyRequestedAt: request}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return err
	}
	api := r.Client.KubizoneV1alpha1()

	// 1. Without a Delivery, the wait would end at once and look like a success.
	zone, err := api.Zones(r.Zone.Namespace).Get(ctx, r.Zone.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("--repair: %w", err)
	}
	all, err := r.ListDeliveries(ctx, zone)
	if err != nil {
		return fmt.Errorf("--repair asks the Deliveries of the zone: %w", err)
	}
	if len(all) == 0 {
		return fmt.Errorf("--repair: zone %s has no Delivery, so no class has anything to repair: see the condition Ready of the "+
			"Zone", r.Zone)
	}

	// 2. Request the repair. The time is the mark by which Deliveries confirm this request.
	zone, err = api.Zones(r.Zone.Namespace).Patch(ctx, r.Zone.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: FieldManager})
	if err != nil {
		return fmt.Errorf("--repair annotates the Zone: %w", err)
	}

	// 3. Wait for the Deliveries, and name those without an answer.
	var waiting []v1alpha1.Delivery
	err = wait.PollUntilContextTimeout(ctx, repairPoll, repairTime, true, func(ctx context.Context) (bool, error) {
		all, err := r.ListDeliveries(ctx, zone)
		if err != nil {
			return false, err
		}
		waiting = slices.DeleteFunc(all, func(one v1alpha1.Delivery) bool { return one.Status.LastVerifyRequest == request })
		return len(waiting) == 0, nil
	})
	switch {
	// After repairTime, the Deliveries still without an answer are named below.
	case err != nil && !wait.Interrupted(err):
		return fmt.Errorf("--repair waits for the Deliveries of the zone: %w", err)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	for _, one := range waiting {
		why := "it did not begin within " + repairTime.String()
		// The condition has the reason, for example a silent server.
		if ready := meta.FindStatusCondition(one.Status.Conditions, v1alpha1.ConditionReady); ready != nil &&
			ready.Status != metav1.ConditionTrue {
			why = ready.Reason + ": " + ready.Message
		}
		r.Remark(fmt.Sprintf("class %s did not repair the zone: %s; it will when it can", one.Spec.ClassRef.Name, why))
	}
	if len(waiting) > 0 {
		return ErrNotRepaired
	}
	return nil
}
