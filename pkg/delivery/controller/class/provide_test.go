// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/secrets"
)

type unreadable struct{ error }

func (u unreadable) Get(context.Context, string, string) (map[string][]byte, error) {
	return nil, u.error
}

// If a class's Secret cannot be read, the status of the class names the Secret and the next step: to grant the right to
// read, to create the Secret, or to wait.
func TestReadSecret_saysTheNextStep(t *testing.T) {
	for want, err := range map[string]error{
		"--set 'classes.CLASS.secrets.dns={hook}'": apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "hook", nil),
		"it is tried again":                        errors.New("connection refused"),
		"there is no Secret dns/hook; make it in namespace dns, or name another one": secrets.ErrNotFound,
		"there is no Secret dns/hook; write each, or name another one":               &secrets.MissingError{Next: "write each"},
	} {
		_, _, got := (&providers{secrets: unreadable{err}}).readSecret(t.Context(), "dns", "hook")
		var of *delivery.Error
		if !errors.As(got, &of) || of.Reason != delivery.ReasonSecretNotFound || !strings.Contains(of.Message, want) ||
			!strings.Contains(of.Message, "dns/hook") {
			t.Errorf("%v: %v", err, got)
		}
	}
}
