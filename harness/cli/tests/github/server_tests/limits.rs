//! What GitHub refuses.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{COMMENTS, Client, REPO, comment, head_sha, post, said};
use crate::server::Server;

#[test]
fn who_may_not() {
    let server = Server::start();
    let mut client = Client::of(&server);
    let mut with =
        |headers: &[(&str, &str)]| client.exchange("GET", COMMENTS, headers, None).unwrap();
    let (accept, agent) = (
        ("Accept", "application/vnd.github+json"),
        ("User-Agent", "t"),
    );
    let none = with(&[accept, agent]);
    assert_eq!(none.said(), "401 Requires authentication");
    let wrong = with(&[accept, agent, ("Authorization", "Bearer wrong")]);
    assert_eq!(wrong.said(), "401 Bad credentials");
    let nobody = with(&[accept, ("Authorization", "Bearer ghs_token")]);
    assert_eq!(nobody.status, 403);
    assert!(String::from_utf8_lossy(&nobody.body).contains("User-Agent"));
    let legacy = with(&[agent, ("Authorization", "token ghs_token")]);
    assert_eq!(legacy.status, 200);
    assert_snapshot!(server.violations().join("\n"), @r#"
    GET /repos/octo/demo/issues/7/comments: header user-agent: missing
    GET /repos/octo/demo/issues/7/comments: header accept: expected "application/vnd.github+json", found ""
    "#);
}

#[test]
fn permissions_that_are_missing_are_named() {
    let refused = |revoked: &[&str], method: &str, path: &str, body: Value| {
        let server = Server::start();
        server.state().without(revoked);
        let run = server.state().add_run(7);
        let artifact = server.state().add_artifact(run, "a", Vec::new());
        let sha = head_sha(&server);
        let path = path.replace("ARTIFACT", &artifact.to_string());
        let mut body = body;
        if body.get("head_sha").is_some() {
            body["head_sha"] = json!(sha);
        }
        let body = (!body.is_null()).then_some(&body);
        let answer = Client::of(&server).send(method, &path, body);
        server.assert_clean();
        let accepted = answer
            .header("x-accepted-github-permissions")
            .map(str::to_owned);
        assert_eq!(answer.said(), "403 Resource not accessible by integration");
        accepted.unwrap()
    };
    let check = json!({"name": "n", "head_sha": ""});
    let accepted = [
        refused(&["pull_requests=write"], "POST", COMMENTS, comment("x")),
        refused(
            &["checks=write"],
            "POST",
            &format!("{REPO}/check-runs"),
            check,
        ),
        refused(
            &["contents=write"],
            "POST",
            &format!("{REPO}/git/blobs"),
            json!({"content": ""}),
        ),
        refused(
            &["actions=read"],
            "GET",
            &format!("{REPO}/actions/artifacts/ARTIFACT/zip"),
            json!(null),
        ),
    ];
    assert_snapshot!(accepted.join("\n"), @"
    issues=write; pull_requests=write
    checks=write
    contents=write
    actions=read
    ");
}

#[test]
fn what_is_private_has_to_be_granted() {
    let server = Server::start();
    let mut client = Client::of(&server);
    server.state().without(&["pull_requests=write"]);
    assert_eq!(client.get(COMMENTS).status, 200);
    server.state().repository.private = true;
    let refused = client.get(COMMENTS);
    assert_eq!(refused.said(), "403 Resource not accessible by integration");
    assert_eq!(
        refused.header("x-accepted-github-permissions"),
        Some("issues=read; pull_requests=read")
    );
    server.state().permissions.insert("issues=write".to_owned());
    assert_eq!(client.get(COMMENTS).status, 200);
    assert_eq!(client.get(REPO).json()["private"], true);
}

#[test]
fn comments() {
    let server = Server::start();
    let mut client = Client::of(&server);
    // Characters, not bytes.
    let most = "\u{1f534}".repeat(65_536);
    let made = post(&mut client, COMMENTS, &comment(&most));
    assert_eq!(made.status, 201);
    let more = comment(&format!("{most}."));
    let path = format!("{REPO}/issues/comments/{}", made.json()["id"]);
    let long = "422 Validation Failed: Body is too long (maximum is 65536 characters)";
    assert_eq!(post(&mut client, COMMENTS, &more).said(), long);
    assert_eq!(client.send("PATCH", &path, Some(&more)).said(), long);
    assert_eq!(
        post(&mut client, COMMENTS, &comment(" \n")).said(),
        "422 Validation Failed: Body cannot be blank"
    );
    assert_eq!(server.state().comments.len(), 1);
    server.state().pull(7).locked = true;
    assert_eq!(
        post(&mut client, COMMENTS, &comment("x")).said(),
        "403 Unable to create comment because issue is locked."
    );
    let nowhere = post(
        &mut client,
        &format!("{REPO}/issues/8/comments"),
        &comment("x"),
    );
    assert_eq!(nowhere.said(), "404 Not Found");
    let nowhere = client.get("/repos/octo/other/issues/7/comments");
    assert_eq!(nowhere.said(), "404 Not Found");
    server.assert_clean();
}

/// A check run with these keys beside name and commit: what is said about it.
fn check(more: &Value) -> String {
    let server = Server::start();
    let mut body = json!({"name": "leaks", "head_sha": head_sha(&server)});
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    let answer = post(
        &mut Client::of(&server),
        &format!("{REPO}/check-runs"),
        &body,
    );
    assert_eq!(server.self_violations(), [""; 0]);
    match answer.status {
        201 => "201".to_owned(),
        _ => {
            assert!(server.state().checks.is_empty(), "refused, and yet made");
            answer.said()
        }
    }
}

fn output(key: &str, value: &Value) -> String {
    let mut output = json!({"title": "t", "summary": "s"});
    output[key] = value.clone();
    check(&json!({ "output": output }))
}

fn annotation(more: &Value) -> String {
    let mut annotation = json!({
        "path": "src/lib.rs",
        "start_line": 2,
        "end_line": 2,
        "annotation_level": "warning",
        "message": "grows",
    });
    for (key, value) in more.as_object().unwrap() {
        annotation[key] = value.clone();
    }
    output("annotations", &json!([annotation]))
}

#[test]
fn check_runs() {
    let nobody = json!({"name": "n", "head_sha": "f00"});
    let unknown = said("POST", &format!("{REPO}/check-runs"), &nobody);
    assert_eq!(unknown, "422 No commit found for SHA: f00");

    assert_eq!(
        check(&json!({"status": "completed", "conclusion": "success"})),
        "201"
    );
    assert_eq!(
        check(&json!({"status": "completed"})),
        "422 Validation Failed: conclusion is required when status is completed"
    );
    assert_eq!(
        check(&json!({"details_url": "ftp://x"})),
        "422 Validation Failed: details_url must use http or https scheme"
    );
    assert!(check(&json!({"conclusion": "great"})).starts_with("422 Invalid request."));
    assert!(check(&json!({"completed_at": "today"})).starts_with("422 Invalid request."));

    assert_eq!(output("title", &json!("t".repeat(255))), "201");
    assert_eq!(
        output("title", &json!("t".repeat(256))),
        "422 Validation Failed: title is too long (maximum is 255 characters)"
    );
    for key in ["summary", "text"] {
        assert_eq!(output(key, &json!("é".repeat(65_535))), "201");
        let long = output(key, &json!("é".repeat(65_536)));
        assert!(long.starts_with("422 Invalid request."), "{long}");
    }
}

#[test]
fn annotations() {
    let sound = json!({
        "path": "a", "start_line": 1, "end_line": 1, "annotation_level": "notice", "message": "m",
    });
    assert_eq!(
        output("annotations", &json!(vec![sound.clone(); 50])),
        "201"
    );
    let many = output("annotations", &json!(vec![sound; 51]));
    assert!(many.starts_with("422 Invalid request."), "{many}");

    assert_eq!(
        annotation(&json!({"start_column": 1, "end_column": 9})),
        "201"
    );
    assert_eq!(
        annotation(&json!({"end_line": 3, "message": "m".repeat(65_536)})),
        "201"
    );
    let refused = [
        annotation(&json!({"path": ""})),
        annotation(&json!({"path": "/src/lib.rs"})),
        annotation(&json!({"path": "src/../../lib.rs"})),
        annotation(&json!({"start_line": 0})),
        annotation(&json!({"end_line": 1})),
        annotation(&json!({"end_line": 3, "start_column": 1})),
        annotation(&json!({"start_column": 0})),
        annotation(&json!({"start_column": 5, "end_column": 4})),
        annotation(&json!({"message": ""})),
        annotation(&json!({"message": "m".repeat(65_537)})),
        annotation(&json!({"raw_details": "d".repeat(65_537)})),
        annotation(&json!({"title": "t".repeat(256)})),
    ];
    assert_snapshot!(refused.join("\n"), @"
    422 Validation Failed: path cannot be blank
    422 Validation Failed: path must be relative to the repository
    422 Validation Failed: path must not leave the repository
    422 Validation Failed: start_line must be greater than 0
    422 Validation Failed: end_line must not be before start_line
    422 Validation Failed: start_column and end_column are allowed only where start_line equals end_line
    422 Validation Failed: start_column must be greater than 0
    422 Validation Failed: end_column must not be before start_column
    422 Validation Failed: message cannot be blank
    422 Validation Failed: message is too long (maximum is 64 KB)
    422 Validation Failed: raw_details is too long (maximum is 64 KB)
    422 Validation Failed: title is too long (maximum is 255 characters)
    ");
}

#[test]
fn git() {
    let git = |path: &str, body: Value| said("POST", &format!("{REPO}/git/{path}"), &body);
    let entry = |more: Value| {
        let mut entry = json!({"path": "a", "mode": "100644", "type": "blob"});
        for (key, value) in more.as_object().unwrap() {
            entry[key] = value.clone();
        }
        json!({"tree": [entry]})
    };
    let main = Server::start().state().git.refs["refs/heads/main"].clone();
    let refused = [
        git("blobs", json!({"content": "?", "encoding": "base64"})),
        git("trees", json!({"tree": []})),
        git("trees", entry(json!({}))),
        git("trees", entry(json!({"sha": "f00"}))),
        git("trees", entry(json!({"content": "x", "path": "../a"}))),
        git("trees", json!({"tree": [], "base_tree": "f00"})),
        git("commits", json!({"message": "m", "tree": "f00"})),
        git("refs", json!({"ref": "heads/x", "sha": main})),
        git("refs", json!({"ref": "refs/heads/main", "sha": main})),
        git("refs", json!({"ref": "refs/heads/x", "sha": "f00"})),
    ];
    assert_snapshot!(refused.join("\n"), @"
    422 Validation Failed: content is not valid Base64
    422 Invalid tree info
    422 Must supply either tree.sha or tree.content
    422 tree.sha f00 is not a valid blob
    422 tree.path contains a malformed path component
    422 base_tree is not a valid tree oid
    422 Tree SHA does not exist
    422 Reference name must start with 'refs/' and have two slashes
    422 Reference already exists
    422 Object does not exist
    ");
}
