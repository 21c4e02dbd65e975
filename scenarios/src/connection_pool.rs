//! A pool of connections (`r2d2`) to a small server, some of which break.
//!
//! What could leak: a connection that is found broken and replaced, with its socket; the
//! request for a replacement, which goes to one of the pool's own threads; a waiter that gave
//! up. The server has a thread for each connection, which ends with the connection.
//!
//! Healthy: two connections. A broken one is replaced in its own iteration, because the
//! iteration asks for both connections again. Only the server's thread may end later.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use anyhow::{Context, ensure};
use plimsoll::Scenario;
use r2d2::{ManageConnection, Pool};

use crate::random::every;

struct Manager {
    server: SocketAddr,
}

struct Client {
    stream: TcpStream,
    broken: bool,
}

impl Client {
    fn echo(&mut self, byte: u8) -> std::io::Result<u8> {
        self.stream.write_all(&[byte])?;
        let mut answer = [0];
        self.stream.read_exact(&mut answer)?;
        Ok(answer[0])
    }
}

impl ManageConnection for Manager {
    type Connection = Client;
    type Error = std::io::Error;

    fn connect(&self) -> std::io::Result<Client> {
        Ok(Client {
            stream: TcpStream::connect(self.server)?,
            broken: false,
        })
    }

    fn is_valid(&self, client: &mut Client) -> std::io::Result<()> {
        client.echo(0).map(drop)
    }

    fn has_broken(&self, client: &mut Client) -> bool {
        client.broken
    }
}

/// Takes both connections at once; every sixteenth time one of them breaks.
pub fn connection_pool() -> Scenario {
    Scenario::new("connection_pool", || {
        let server = serve().expect("there is a loopback port to listen on");
        let pool = Pool::builder()
            .max_size(2)
            // The iteration says which one is broken; asking each would be half of its time.
            .test_on_check_out(false)
            .build(Manager { server })
            .expect("the server on the loopback port is reached");
        move |i: u64| -> anyhow::Result<()> {
            let [byte, ..] = i.to_le_bytes();
            for round in 0..=u8::from(every(16, i)) {
                let mut first = pool.get().context("no connection")?;
                let mut second = pool.get().context("no second connection")?;
                ensure!(first.echo(byte)? == byte, "the first echo differs");
                ensure!(second.echo(!byte)? == !byte, "the second echo differs");
                first.broken = every(16, i) && round == 0;
            }
            Ok(())
        }
    })
}

/// Starts a server that sends every byte back, with a thread per connection.
fn serve() -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || echo(stream));
        }
    });
    Ok(address)
}

/// Sends every byte back until the client closes the connection.
fn echo(mut stream: TcpStream) {
    let mut byte = [0];
    while stream
        .read_exact(&mut byte)
        .and_then(|()| stream.write_all(&byte))
        .is_ok()
    {}
}
