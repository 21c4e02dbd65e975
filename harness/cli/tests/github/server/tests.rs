//! The server is held against what GitHub describes and documents: a request that GitHub would
//! refuse or overlook is seen. Its answers are held against the description whenever the bot asks.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::state::TOKEN;
use super::{Server, http};

/// Sends a request as the bot does; `HEAD` in it is the commit of pull request 7. The status, and
/// what is said about it.
fn said(server: &Server, method: &str, path: &str, body: &Value) -> String {
    let sha = server.state().head(7);
    let path = path.replace("HEAD", &sha);
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string().replace("HEAD", &sha),
    };
    let request = format!(
        "{method} /repos/octo/demo{path} HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\n\
         Accept: application/vnd.github+json\r\nUser-Agent: tests\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let request = http::read(&mut request.as_bytes()).unwrap().unwrap();
    let reply = server.shared.answer(&request, true);
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    match body["message"].as_str() {
        Some(message) => format!("{} {}", reply.status, message.lines().next().unwrap()),
        None => reply.status.to_string(),
    }
}

/// What GitHub's documentation says that it refuses, and its description does not.
#[test]
fn what_is_documented_is_refused() {
    let server = Server::start();
    let post = |path: &str, body: Value| said(&server, "POST", path, &body);
    let comment = |body: String| post("/issues/7/comments", json!({"body": body}));
    let most = "\u{1f534}".repeat(65_536);
    assert_eq!(comment(most.clone()), "201");
    let long = comment(most + ".");
    assert_eq!(long, "422 Body is too long (maximum is 65536 characters)");
    assert_eq!(comment(" \n".to_owned()), "422 Body cannot be blank");

    let check = |key: &str, value: Value| {
        let mut body = json!({"name": "n", "head_sha": "HEAD"});
        body[key] = value;
        post("/check-runs", body)
    };
    let output = |title: String| json!({"title": title, "summary": "s"});
    assert_eq!(check("output", output("t".repeat(255))), "201");
    let annotation = |key: &str, value: Value| {
        let mut one = json!({
            "path": "src/lib.rs", "start_line": 2, "end_line": 2, "annotation_level": "notice",
            "message": "m".repeat(65_536), "start_column": 1,
        });
        one[key] = value;
        let mut output = output("t".to_owned());
        output["annotations"] = json!([one]);
        check("output", output)
    };
    assert_eq!(annotation("title", json!("t")), "201");
    let refused = [
        check("head_sha", json!("f00")),
        check("status", json!("completed")),
        check("output", output("t".repeat(256))),
        annotation("path", json!("")),
        annotation("path", json!("/src/lib.rs")),
        annotation("path", json!("src/../../lib.rs")),
        annotation("start_line", json!(0)),
        annotation("end_line", json!(1)),
        annotation("end_line", json!(3)),
        annotation("message", json!("")),
        annotation("message", json!("m".repeat(65_537))),
        annotation("title", json!("t".repeat(256))),
        post("/git/trees", json!({"tree": [{"path": "a", "sha": "f00"}]})),
        post("/git/commits", json!({"message": "m", "tree": "f00"})),
        post("/git/refs", json!({"ref": "refs/heads/x", "sha": "f00"})),
    ];
    assert_snapshot!(refused.join("\n"), @"
    422 No commit found for SHA: f00
    422 conclusion is required when status is completed
    422 title is too long (maximum is 255 characters)
    422 path cannot be blank
    422 path must be relative to the repository
    422 path must not leave the repository
    422 start_line must be greater than 0
    422 end_line must not be before start_line
    422 start_column is allowed only where start_line equals end_line
    422 message cannot be blank
    422 message is too long (maximum is 64 KB)
    422 title is too long (maximum is 255 characters)
    422 tree.sha is not a valid blob
    422 Tree SHA does not exist
    422 Object does not exist
    ");
    server.assert_clean();
}

#[test]
fn what_the_description_does_not_know_is_a_violation() {
    let server = Server::start();
    let id = server.state().add_ours("ours");
    let comments = "/issues/7/comments";
    let own = &format!("/issues/comments/{id}");
    let asked = |status: &str, method: &str, path: &str, body: Value| {
        let said = said(&server, method, path, &body);
        assert!(said.starts_with(status), "{method} {path}: {said}");
    };
    // What octocrab's typed method sends.
    asked("404", "POST", own, json!({"body": "new"}));
    asked("404", "GET", "/user", json!(null));
    let query = format!("{comments}?per_page=ten&sort=created");
    asked("200", "GET", &query, json!(null));
    asked("404", "GET", "/issues/seven/comments", json!(null));
    asked("200", "GET", "/pulls?state=opened", json!(null));
    asked("422", "POST", comments, json!({"body": 5}));
    asked("422", "POST", comments, json!({}));
    asked("201", "POST", comments, json!({"body": "b", "boby": "b"}));
    asked("422", "POST", comments, json!(null));
    asked("422", "DELETE", own, json!({}));
    let output = json!({"title": "t", "summary": "s".repeat(65_536)});
    let check = json!({"name": "n", "head_sha": "HEAD", "output": output});
    asked("422", "POST", "/check-runs", check);
    let violations = server.violations();
    let violations = violations.join("\n").replace("/repos/octo/demo/", "/");
    assert_snapshot!(violations.replace("issues/7/comments?per_page=ten&sort=created", "…"), @r#"
    POST /issues/comments/5000000001: expected one of ["delete", "patch"] at this path
    GET /user: no such path in the description
    GET /…: parameter per_page: type: want integer, but got string
    GET /…: parameter sort: unknown
    GET /issues/seven/comments: parameter issue_number: type: want integer, but got string
    GET /pulls?state=opened: parameter state: enum: value must be one of 'open', 'closed', 'all'
    POST /issues/7/comments: /body: type: want string, but got number
    POST /issues/7/comments: required: missing properties 'body'
    POST /issues/7/comments: /boby: unknown
    POST /issues/7/comments: no body
    DELETE /issues/comments/5000000001: a body, where none is described
    POST /check-runs: /output/summary: maxLength: length must be <=65535, but got 65536
    "#);
}
