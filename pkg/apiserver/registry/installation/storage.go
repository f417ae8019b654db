// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

type REST struct {
	kind.Resource
	rest.TableConvertor
	read func() v1alpha1.InstallationStatus
}

var _ rest.Getter = (*REST)(nil)

// NewREST returns the storage. The function readStatus must not block.
func NewREST(readStatus func() v1alpha1.InstallationStatus) *REST {
	return &REST{kind.NewResource(&v1alpha1.Installation{}, "installation", false),
		rest.NewDefaultTableConvertor(v1alpha1.Resource("installations")), readStatus}
}

func (r *REST) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if name != v1alpha1.InstallationName {
		return nil, apierrors.NewNotFound(v1alpha1.Resource("installations"), name)
	}
	return &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: r.read()}, nil
}
