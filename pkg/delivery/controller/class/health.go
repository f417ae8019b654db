// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"cmp"
	"context"
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/objects"
)

const (
	ReasonServerHealthy = "ServerHealthy"
	// ReasonNotProven is for delivery.ErrNotProven.
	ReasonNotProven = "NotProven"
)

// judgeHealth returns Ready and the health of a class for the result of a check; found is nil if the servers answer.
// secrets are the names of the class's Secrets, for the message. The time of a transition stays if the status stays.
func judgeHealth(ctx context.Context, of *v1alpha1.DNSClass, found error, now metav1.Time, secrets ...string) (metav1.Condition,
	v1alpha1.ClassHealth) {
	health := v1alpha1.ClassHealth{Status: v1alpha1.HealthStatusHealthy, LastCheck: &now}
	condition := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: ReasonServerHealthy,
		Message: "the provider answers and accepts the credentials", ObservedGeneration: of.Generation, LastTransitionTime: now}
	switch {
	case errors.Is(found, delivery.ErrNotProven):
		condition.Status, condition.Reason = metav1.ConditionUnknown, ReasonNotProven
		condition.Message = objects.ShortenMessage(found.Error())
		health.Status, health.Message = v1alpha1.HealthStatusUnknown, condition.Message
	case found != nil:
		reason, message := delivery.ReasonServerError, "the provider failed without an explanation; the controller's log has the error"
		var e *delivery.Error
		if errors.As(found, &e) {
			reason, message = e.Reason, cmp.Or(e.Message, string(e.Reason))
			// The reader of a refused key first needs the place of the key.
			if reason == delivery.ReasonAuthenticationFailed && len(secrets) > 0 {
				message += "; the class has its key or credentials from Secret " + strings.Join(secrets, ", ")
			}
			if e.Detail != "" {
				message += "; it says: " + e.Detail
			}
		} else {
			// The text of any other error may have data that a status must not show, so only the log gets it.
			klog.FromContext(ctx).Error(found, "a health check failed", "class", of.Name)
		}
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, string(reason), objects.ShortenMessage(message)
		health.Status, health.Message = v1alpha1.HealthStatusUnhealthy, condition.Message
	}
	if before := objects.ReadyOf(of.Status.Conditions); before != nil && before.Status == condition.Status {
		condition.LastTransitionTime = before.LastTransitionTime
	}
	return condition, health
}

func judgeDelivering(ctx context.Context, name string, found error) metav1.Condition {
	condition, _ := judgeHealth(ctx, &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name}}, found, metav1.Now())
	condition.Type = bind9.ConditionDelivering
	if condition.Status == metav1.ConditionFalse {
		condition.Message = objects.PublicMessage(name, delivery.Reason(condition.Reason), condition.Message)
	}
	return condition
}
