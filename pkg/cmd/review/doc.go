// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package review is the sub-command that comments a branch's effect on zones in its pull request.
//
// Guarantees:
//
//	W1. A pull request has one comment of a name, which later runs change. It is found by first line and author:
//	    comments of other authors never change.
//	W2. Texts of files and of the server are only code in the comment: no mention, link, HTML or command. It has at
//	    most the forge's size, and names omissions.
//	W3. Requests and waiting are bounded, and the token goes only to the forge's API.
//	W4. The exit code is 1 if a file is wrong, or the server or the gate refuses; 2 if that is unknown or the comment
//	    could not be written. A fork's token without the right to write is no failure.
//
// Out of scope: the plan (package importer), and the verdicts about files (package lint).
//
// Read first: review.go, gate.go, comment.go, forge.go.
package review
