// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updatekey

import (
	"context"
	"time"

	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
)

// maxRulesTime bounds the read of rules. After that, no Warning is given.
const maxRulesTime = time.Second

func warnOfPatterns(ctx context.Context, list ListRules, key *v1alpha1.UpdateKey) {
	within, cancel := context.WithTimeout(ctx, maxRulesTime)
	defer cancel()
	rules, ok := list(within, key.Namespace)
	if !ok {
		return
	}
	for _, text := range validation.UpdateKeyWarnings(key, rules) {
		warning.AddWarning(ctx, v1alpha1.WarningNoRules, text)
	}
}
