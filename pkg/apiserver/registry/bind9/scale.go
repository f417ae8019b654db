// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bind9

import (
	"context"
	"fmt"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

// ScaleREST is the subresource scale of bind9clusters, the number of secondaries. To scale, the user needs no right to
// run servers.
type ScaleREST struct {
	kind.Endpoint
	clusters *genericregistry.Store
}

var (
	_ rest.Patcher                  = (*ScaleREST)(nil)
	_ rest.GroupVersionKindProvider = (*ScaleREST)(nil)
	_ rest.TableConvertor           = (*ScaleREST)(nil)
)

var replicasPath = managedfields.ResourcePathMappings{
	bind9.SchemeGroupVersion.String(): fieldpath.MakePathOrDie("spec", "secondary", "replicas"),
}

func newScale(clusters *genericregistry.Store) *ScaleREST {
	return &ScaleREST{kind.Endpoint{Object: &autoscalingv1.Scale{}}, clusters}
}

func (*ScaleREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return autoscalingv1.SchemeGroupVersion.WithKind("Scale")
}

func (s *ScaleREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	obj, err := s.clusters.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return scaleOf(obj.(*bind9.Bind9Cluster)), nil
}

// Update scales the Bind9Cluster. Admission gets Scale objects, as of other scale subresources, and the store the whole
// cluster.
func (s *ScaleREST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, onCreate rest.ValidateObjectFunc,
	onUpdate rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	validate := func(ctx context.Context, obj, old runtime.Object) error {
		if onUpdate == nil {
			return nil
		}
		return onUpdate(ctx, scaleOf(obj.(*bind9.Bind9Cluster)), scaleOf(old.(*bind9.Bind9Cluster)))
	}
	obj, _, err := s.clusters.Update(ctx, name, scaledObject{info}, onCreate, validate, false, options)
	if err != nil {
		return nil, false, err
	}
	return scaleOf(obj.(*bind9.Bind9Cluster)), false, nil
}

func (s *ScaleREST) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return rest.NewDefaultTableConvertor(bind9.Resource("bind9clusters/scale")).ConvertToTable(ctx, obj, options)
}

// scaleOf returns the Scale of a cluster: desired secondaries, present secondaries, and their selector for an
// autoscaler.
func scaleOf(cluster *bind9.Bind9Cluster) *autoscalingv1.Scale {
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name: cluster.Name, Namespace: cluster.Namespace, UID: cluster.UID, ResourceVersion: cluster.ResourceVersion,
			CreationTimestamp: cluster.CreationTimestamp,
		},
		Status: autoscalingv1.ScaleStatus{
			Replicas: cluster.Status.Secondaries.Current,
			Selector: bind9.LabelCluster + "=" + cluster.Name + "," + bind9.LabelRole + "=" + strings.ToLower(string(bind9.RoleSecondary)),
		},
	}
	if cluster.Spec.Secondary != nil {
		scale.Spec.Replicas = cluster.Spec.Secondary.Replicas
	}
	return scale
}

type scaledObject struct{ scale rest.UpdatedObjectInfo }

func (s scaledObject) Preconditions() *metav1.Preconditions { return s.scale.Preconditions() }

// UpdatedObject returns the stored cluster with the number of secondaries in the client's Scale, and with managed
// fields for spec.secondary.replicas.
func (s scaledObject) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	cluster := old.DeepCopyObject().(*bind9.Bind9Cluster)
	if cluster.ResourceVersion == "" {
		return nil, apierrors.NewNotFound(bind9.Resource("bind9clusters/scale"), cluster.Name)
	}
	// Managers of the cluster's field appear as managers of the Scale, so an apply of either sees conflicts with the
	// other.
	fields := managedfields.NewScaleHandler(cluster.ManagedFields, bind9.SchemeGroupVersion, replicasPath)
	before := scaleOf(cluster)
	var err error
	if before.ManagedFields, err = fields.ToSubresource(); err != nil {
		return nil, err
	}
	obj, err := s.scale.UpdatedObject(ctx, before)
	if err != nil {
		return nil, err
	}
	scale, ok := obj.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a Scale: %T", obj))
	}
	// The cluster was deleted and created again since the client read the Scale.
	if scale.UID != "" && scale.UID != cluster.UID {
		return nil, apierrors.NewConflict(bind9.Resource("bind9clusters/scale"), cluster.Name,
			fmt.Errorf("precondition failed: the uid in the request is %s, that of the object is %s", scale.UID, cluster.UID))
	}
	if n := scale.Spec.Replicas; n < 0 || n > validation.MaxServersOfRole {
		return nil, apierrors.NewInvalid(autoscalingv1.SchemeGroupVersion.WithKind("Scale").GroupKind(), cluster.Name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "replicas"), n, fmt.Sprintf("must be from 0 to %d", validation.MaxServersOfRole))})
	}
	if cluster.Spec.Secondary == nil {
		cluster.Spec.Secondary = &bind9.RoleSettings{}
	}
	cluster.Spec.Secondary.Replicas = scale.Spec.Replicas
	cluster.ResourceVersion = scale.ResourceVersion
	cluster.ManagedFields, err = fields.ToParent(scale.ManagedFields)
	return cluster, err
}
