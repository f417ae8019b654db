// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"slices"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/registry/changeset"
	"kubi.zone/kubizone/pkg/apiserver/registry/direct"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
	"kubi.zone/kubizone/pkg/zone/ledger"
)

// actingAuthorizer lets a DNS update (changeset.ActFor) write Records in the UpdateKey's namespace, and nothing else.
// Other writes have the rights of their user.
type actingAuthorizer struct{ authorizer.Authorizer }

var actingVerbs = []string{"get", "create", "patch", "delete"}

func (a actingAuthorizer) Authorize(ctx context.Context, asked authorizer.Attributes) (authorizer.Decision, string, error) {
	namespace, acts := changeset.ActsFor(ctx)
	if !acts {
		return a.Authorizer.Authorize(ctx, asked)
	}
	if asked.IsResourceRequest() && asked.GetAPIGroup() == v1alpha1.GroupName && asked.GetResource() == "records" &&
		asked.GetSubresource() == "" && asked.GetNamespace() == namespace && slices.Contains(actingVerbs, asked.GetVerb()) {
		return authorizer.DecisionAllow, "an update of the namespace", nil
	}
	return authorizer.DecisionDeny, "an update writes Records of its namespace alone", nil
}

// changeSet is a set of the ledger with the storages of its items.
type changeSet struct {
	*ledger.Set
	records *kind.REST[*v1alpha1.Record]
	budget  budgetJudge
}

// Storage returns the storage of item i. Its layers, from the watch cache up, are the set and the budget.
func (s *changeSet) Storage(i int) direct.Storage {
	return s.records.Through(func(cached storage.Interface) storage.Interface {
		if s.budget.budgets == nil {
			return s.Item(i, cached)
		}
		return &budgeted{Interface: s.Item(i, cached), judge: s.budget, resource: v1alpha1.Resource("records")}
	})
}
