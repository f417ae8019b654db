// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updatekey

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

type ListRules func(ctx context.Context, namespace string) (all []v1alpha1.NameReviewRule, ok bool)

// NewKind returns the kind of UpdateKeys. The kind calls onNameTaken with the message of Ready when Ready gets the
// reason KeyNameTaken.
func NewKind(authz authorizer.UnconditionalAuthorizer, rules ListRules,
	onNameTaken func(key *v1alpha1.UpdateKey, why string)) *kind.Kind[*v1alpha1.UpdateKey] {
	status := kind.Status(validation.UpdateKeyStatusUpdate)
	status.AfterWrite = func(after, before *v1alpha1.UpdateKey) {
		now := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionReady)
		was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionReady)
		isTaken := now != nil && now.Reason == v1alpha1.ReasonKeyNameTaken
		wasTaken := was != nil && was.Reason == v1alpha1.ReasonKeyNameTaken
		// Later writes of the status repeat the reason. Only the first is an Event (S13.3).
		if isTaken && !wasTaken {
			onNameTaken(after, now.Message)
		}
	}
	return &kind.Kind[*v1alpha1.UpdateKey]{
		GroupVersion: v1alpha1.SchemeGroupVersion, Resource: "updatekeys", Singular: "updatekey", ShortNames: []string{"uk"},
		New:     func() *v1alpha1.UpdateKey { return &v1alpha1.UpdateKey{} },
		NewList: func() runtime.Object { return &v1alpha1.UpdateKeyList{} },

		Validate: validation.UpdateKey, ValidateUpdate: validation.UpdateKeyUpdate,
		Check: func(ctx context.Context, after, before *v1alpha1.UpdateKey) error {
			if !kind.SpecChanged(after, before) {
				return nil
			}
			if err := reviewAuthor(ctx, authz, after); err != nil {
				return err
			}
			warnOfPatterns(ctx, rules, after)
			return nil
		},
		Subresources: map[string]kind.Subresource[*v1alpha1.UpdateKey]{"status": status},

		Columns: []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string", Format: "name", Description: "metadata.name of the UpdateKey."},
			{Name: "Key", Type: "string", Description: "The name of the TSIG key at its first use."},
			{Name: "Ready", Type: "string", Description: "Whether a primary takes the key."},
			{Name: "Last update", Type: "string", Description: "Time since the last update that changed something."},
			{Name: "Age", Type: "string", Description: "Time since the creation of the UpdateKey."},
			{Name: "Patterns", Type: "string", Priority: 1, Description: "The names that the key may write."},
			{Name: "Message", Type: "string", Priority: 1, Description: "Why the key is not taken."},
		},
		Row: rowOfKey,
	}
}

var authorVerbs = []string{"create", "patch", "delete"}

// reviewAuthor returns 403 unless the author may create, patch and delete Records in the namespace. Otherwise an
// UpdateKey would be a way around RBAC (S13.2).
func reviewAuthor(ctx context.Context, by authorizer.UnconditionalAuthorizer, key *v1alpha1.UpdateKey) error {
	for _, verb := range authorVerbs {
		allowed, err := kind.IsAllowed(ctx, by, authorizer.AttributesRecord{Verb: verb, Namespace: key.Namespace,
			APIGroup: v1alpha1.GroupName, APIVersion: "*", Resource: "records"})
		if err != nil {
			return err
		}
		if !allowed {
			return refusal.ByRule("S13.2", apierrors.NewForbidden(v1alpha1.Resource("updatekeys"), key.Name, fmt.Errorf("the right to %s "+
				"records in namespace %s is needed: updates that the key signs do so for the author of the UpdateKey (S13.2); a "+
				"RoleBinding to kubizone-record-editor gives it", verb, key.Namespace)))
		}
	}
	return nil
}

const patternsWidth = 60

// rowOfKey returns the cells of the columns, in their order.
func rowOfKey(key *v1alpha1.UpdateKey) []any {
	var patterns []string
	for _, r := range key.Spec.Records {
		patterns = append(patterns, r.Pattern)
	}
	last := "<none>"
	if u := key.Status.LastUpdate; u != nil {
		last = kind.Age(u.Time)
	}
	return []any{key.Name, kind.OrNone(key.Status.KeyName), kind.Ready(key.Status.Conditions), last, kind.Age(key.CreationTimestamp),
		kind.OrNone(kind.Shorten(strings.Join(patterns, ","), patternsWidth)), kind.Message(key.Status.Conditions, v1alpha1.ConditionReady)}
}
