export declare function exercise(sockets: object, codec: object): Promise<string>
